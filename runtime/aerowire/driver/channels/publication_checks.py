"""What a publication may not ask for, and when it may not share one that exists. Aeron: PublicationParams.confirmMatch."""

from __future__ import annotations

from typing import Protocol

from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ChannelValueError
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.publication_params import PublicationParams
from aerowire.driver.channels.udp_channel import RESERVED_VALUE_OFFSET, TIMESTAMP_OFFSET_NONE, UdpChannel


class Existing(Protocol):
    """A publication that may be shared."""

    @property
    def channel(self) -> str: ...
    @property
    def params(self) -> PublicationParams: ...


def check_network(channel: UdpChannel) -> None:
    """Raise ChannelError when a UDP channel is not one that can be published to."""
    if "fc" in channel.uri and not channel.has_group_semantics:
        raise ChannelValueError(
            "a unicast channel has no flow control strategy to choose",
            where=channel.original,
            expected="no fc",
            actual=f"fc={channel.uri.get('fc')}",
            error_code=ErrorCode.GENERIC_ERROR,
        )
    if channel.channel_snd_timestamp_offset < min(RESERVED_VALUE_OFFSET, TIMESTAMP_OFFSET_NONE):
        raise _invalid_publication(
            "a time stamp would overwrite the frame's header", channel, "an offset of 0 or more, or reserved", "channel-snd-ts-offset"
        )
    if not channel.is_multi_destination and channel.has_explicit_endpoint and channel.remote_data.port == 0:
        raise _invalid_publication("the endpoint of a publication has port 0", channel, "endpoint=host:port with a port", "endpoint")
    if channel.has_explicit_control and not channel.has_explicit_endpoint and channel.has_one_peer:
        raise _invalid_publication("control stands alone", channel, "endpoint or control-mode beside it", "control")


def _invalid_publication(what: str, channel: UdpChannel, expected: str, key: str) -> ChannelValueError:
    return ChannelValueError(
        what, where=channel.original, expected=expected, actual=f"{key}={channel.uri.get(key)}", error_code=ErrorCode.GENERIC_ERROR
    )


def confirm_match(uri: ChannelUri, params: PublicationParams, existing: Existing) -> None:
    """Raise ChannelValueError when a publication would share one that differs in what its URI says."""
    pairs = (
        ("mtu", params.mtu_length, existing.params.mtu_length),
        ("term-length", params.term_length, existing.params.term_length),
        ("session-id", params.session_id, existing.params.session_id),
        ("init-term-id", params.initial_term_id, existing.params.initial_term_id),
        ("term-id", params.term_id, existing.params.term_id),
        ("term-offset", params.term_offset, existing.params.term_offset),
    )
    for key, wanted, found in pairs:
        if key in uri and wanted != found:
            raise mismatch(uri, key, found, existing)


def mismatch(uri: ChannelUri, key: str, found: object, existing: Existing) -> ChannelValueError:
    """Return the error of a publication that differs from the one it would share."""
    return ChannelValueError(
        f"an existing publication has another {key}",
        where=uri,
        expected=f"{key}={found} as {existing.channel} has",
        actual=f"{key}={uri.get(key)}",
        hint="use an exclusive publication, or the same value",
        error_code=ErrorCode.GENERIC_ERROR,
    )
