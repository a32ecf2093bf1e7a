"""Channels as the official archive writes them."""

from __future__ import annotations

import pytest

from aerowire.archive.conductor import channels
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ChannelError, ConfigurationError
from aerowire.codecs.flyweights.archive import SourceLocation


@pytest.mark.parametrize(
    ("channel", "stripped"),
    [
        ("aeron:ipc", "aeron:ipc"),
        ("aeron:ipc?term-length=64k|alias=a", "aeron:ipc?alias=a"),
        ("aeron:udp?endpoint=127.0.0.1:8015|term-length=64k", "aeron:udp?endpoint=127.0.0.1:8015"),
        (
            "aeron:udp?alias=a|session-id=5|control-mode=dynamic|control=h:1|endpoint=h:2|interface=i|tags=1,2|mtu=1408|linger=5s|ssc=true",
            "aeron:udp?tags=1,2|endpoint=h:2|interface=i|control=h:1|control-mode=dynamic|session-id=5|alias=a",
        ),
        (
            "aeron:udp?endpoint=h:2|so-rcvbuf=131072|so-sndbuf=2097152|rcv-wnd=1000|rejoin=TRUE|group=x|tether=false|gtag=07|ttl=04|fc=max",
            "aeron:udp?endpoint=h:2|ttl=4|fc=max|gtag=7|tether=false|group=false|rejoin=true|so-sndbuf=2m|so-rcvbuf=128k|rcv-wnd=1000",
        ),
        (
            "aeron:udp?stream-id=9|response-correlation-id=4|response-endpoint=h:3|channel-snd-ts-offset=8|endpoint=h:2|cc=cubic|eos=true",
            "aeron:udp?endpoint=h:2|cc=cubic|channel-snd-ts-offset=8|response-endpoint=h:3|response-correlation-id=4|stream-id=9",
        ),
    ],
)
def test_strips_what_belongs_to_one_stream(channel: str, stripped: str) -> None:
    assert channels.stripped_channel(ChannelUri.parse(channel)) == stripped


def test_records_a_local_udp_channel_through_a_spy() -> None:
    udp, ipc = ChannelUri.parse("aeron:udp?endpoint=h:2|mtu=1408"), ChannelUri.parse("aeron:ipc?alias=udp")
    assert channels.recording_channel(udp, SourceLocation.LOCAL) == "aeron-spy:aeron:udp?endpoint=h:2"
    assert channels.recording_channel(udp, SourceLocation.REMOTE) == "aeron:udp?endpoint=h:2"
    assert channels.recording_channel(ipc, SourceLocation.LOCAL) == "aeron:ipc?alias=udp"


@pytest.mark.parametrize(
    ("channel", "key"),
    [
        ("aeron:ipc", "7:ipc"),
        ("aeron:ipc?alias=a|term-length=64k", "7:ipc"),
        (
            "aeron:udp?tags=1|session-id=5|control=c:1|interface=i|endpoint=h:2|alias=a",
            "7:udp?endpoint=h:2|interface=i|control=c:1|session-id=5|tags=1",
        ),
    ],
)
def test_recordings_are_the_same_by_stream_and_place(channel: str, key: str) -> None:
    assert channels.recording_key(7, channels.recording_place(ChannelUri.parse(channel))) == key


def test_responses_have_the_clients_lengths_or_the_archives() -> None:
    def built(channel: str) -> str:
        return channels.response_channel(
            ChannelUri.parse(channel), mtu_length=1408, term_length=65536, is_sparse=True, request_image_correlation_id=77
        )

    assert built("aeron:udp?endpoint=h:2") == "aeron:udp?endpoint=h:2|mtu=1408|term-length=64k|sparse=true"
    assert built("aeron:ipc?term-length=128k|mtu=8k|sparse=false|linger=1s") == "aeron:ipc?mtu=8k|term-length=128k|sparse=false"
    assert built("aeron:udp?control-mode=response|control=h:2") == (
        "aeron:udp?control=h:2|control-mode=response|mtu=1408|term-length=64k|sparse=true|response-correlation-id=77"
    )


def test_a_replay_begins_at_its_position() -> None:
    built = channels.replay_channel(
        "aeron:udp?endpoint=h:2|eos=false|term-length=1m|session-id=9",
        position=65536 * 3 + 64,
        initial_term_id=10,
        term_length=65536,
        mtu_length=1408,
        linger_ns=5_000_000_000,
    )
    assert built == (
        "aeron:udp?endpoint=h:2|mtu=1408|term-length=64k|init-term-id=10|term-id=13|term-offset=64|session-id=9|linger=5s|eos=false"
    )


@pytest.mark.parametrize(
    "channel", ["", "aeron:tcp", "aeron:udp?endpoint", "aeron:ipc?alias=k\u00e4se", "aeron:ipc?a=" + 5000 * "x", "\udcff"]
)
def test_refuses_text_that_is_no_channel(channel: str) -> None:
    with pytest.raises(ChannelError):
        channels.parse_channel(channel)


def test_refuses_a_value_that_is_none() -> None:
    with pytest.raises(ConfigurationError):
        channels.stripped_channel(ChannelUri.parse("aeron:udp?endpoint=h:1|so-rcvbuf=much"))


def test_other_archives_respond_to_the_host_of_the_control_channel() -> None:
    assert channels.response_endpoint_of("aeron:udp?endpoint=[::1]:8010|mtu=8k") == "aeron:udp?endpoint=[::1]:0"
    with pytest.raises(ConfigurationError, match="cannot be derived"):
        channels.response_endpoint_of("aeron:udp?control=h:1|control-mode=dynamic")
