"""The syntax of channel URIs: what is read, and how each mistake is told."""

from __future__ import annotations

import pytest

from aerowire.base.channel_keys import check_channel
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ChannelError, ChannelValueError, UnknownChannelKeyError
from aerowire.codecs.tables.errors import ErrorCode


def test_reads_media_parameters_and_tags() -> None:
    uri = ChannelUri.parse("aeron:udp?endpoint=localhost:40123|tags=7,8|term-length=64k")
    assert (uri.media, uri.is_spy) == ("udp", False)
    assert uri.get("endpoint") == "localhost:40123"
    assert (uri.channel_tag, uri.entity_tag) == (7, 8)


@pytest.mark.parametrize(
    "text",
    ["aeron:ipc", "aeron:udp?endpoint=[::1]:4", "aeron-spy:aeron:udp?endpoint=a:1", "aeron:ipc?term-length=64k|alias=a=b"],
)
def test_writes_back_what_it_read(text: str) -> None:
    assert str(ChannelUri.parse(text)) == text


def test_the_last_of_two_equal_keys_wins() -> None:
    assert ChannelUri.parse("aeron:udp?mtu=1k|mtu=2k").get("mtu") == "2k"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "scheme"),
        ("udp:endpoint", "scheme"),
        ("aeron:tcp?endpoint=a:1", "media"),
        ("aeron:", "media"),
        ("aeron:udp?", "malformed parameter"),
        ("aeron:udp?endpoint", "malformed parameter"),
        ("aeron:udp?=1", "malformed parameter"),
        ("aeron:udp?endpoint=a:1||mtu=4k", "malformed parameter"),
        ("aeron:udp?alias=" + "x" * 4095, "too long"),
    ],
)
def test_refuses_what_is_not_a_channel(text: str, part: str) -> None:
    with pytest.raises(ChannelError, match=part) as caught:
        ChannelUri.parse(text)
    assert caught.value.error_code == ErrorCode.INVALID_CHANNEL


@pytest.mark.parametrize("text", ["aeron:udp?endpont=x", "aeron:ipc?mtu=x|reliable=maybe|control-mode=", "aeron:udp?tags=1,2,3|a=b=c"])
def test_keys_and_values_may_be_anything_for_a_driver(text: str) -> None:
    assert str(ChannelUri.parse(text)) == text


@pytest.mark.parametrize("tags", ["x", "", ",7", "9223372036854775808"])
def test_a_channel_tag_is_an_integer_when_somebody_asks(tags: str) -> None:
    with pytest.raises(ChannelValueError, match="tag is not an integer") as caught:
        _ = ChannelUri.parse(f"aeron:udp?tags={tags}").channel_tag
    assert caught.value.error_code == ErrorCode.INVALID_CHANNEL


def test_names_an_unknown_key_and_the_nearest_one() -> None:
    with pytest.raises(UnknownChannelKeyError, match=r"endpont.*did you mean 'endpoint'") as caught:
        check_channel("aeron:udp?endpont=localhost:40123")
    assert caught.value.error_code == ErrorCode.INVALID_CHANNEL


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ("term-length=64q", "an integer with an optional k, m or g"),
        ("mtu=", "an integer with an optional k, m or g"),
        ("mtu=3000000000", "0 to 2147483647"),
        ("linger=5x", "an integer with an optional ns, us, ms or s"),
        ("linger=-1s", "a duration of 0 or more"),
        ("session-id=abc", "a decimal integer"),
        ("session-id=2147483648", "-2147483648 to 2147483647"),
        ("session-id=tag:x", "a decimal integer"),
        ("reliable=yes", "true | false"),
        ("group=maybe", "true | false | infer"),
        ("control-mode=automatic", "manual | dynamic | response"),
        ("cc=reno", "static | cubic"),
        ("tags=1,2,3", "channel-tag[,publication-tag]"),
        ("channel-rcv-ts-offset=here", "a decimal integer"),
        ("response-correlation-id=-2", "-1 to 9223372036854775807"),
        ("gtag=x", "a decimal integer"),
        ("term-id=1_000", "a decimal integer"),
    ],
)
def test_names_a_bad_value_and_what_it_should_be(parameter: str, expected: str) -> None:
    text = f"aeron:udp?endpoint=localhost:40123|{parameter}"
    with pytest.raises(ChannelValueError) as caught:
        check_channel(text)
    error = caught.value
    assert (error.where, error.expected, error.actual) == (text, expected, parameter)
    assert error.error_code == ErrorCode.INVALID_CHANNEL
