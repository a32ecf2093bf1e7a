"""What a subscription may not ask for."""

from __future__ import annotations

from aerowire.base.errors import ChannelValueError
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.udp_channel import RESERVED_VALUE_OFFSET, TIMESTAMP_OFFSET_NONE, UdpChannel


def check_network(channel: UdpChannel) -> None:
    """Raise ChannelError when a UDP channel is not one that can be subscribed to."""
    if channel.channel_rcv_timestamp_offset < min(RESERVED_VALUE_OFFSET, TIMESTAMP_OFFSET_NONE):
        raise ChannelValueError(
            "a time stamp would overwrite the frame's header",
            where=channel.original,
            expected="an offset of 0 or more, or reserved",
            actual=f"channel-rcv-ts-offset={channel.uri.get('channel-rcv-ts-offset')}",
            error_code=ErrorCode.GENERIC_ERROR,
        )
    if "media-rcv-ts-offset" in channel.uri:
        raise ChannelValueError(
            "media timestamps are not supported",
            where=channel.original,
            expected="no media-rcv-ts-offset",
            actual=f"media-rcv-ts-offset={channel.uri.get('media-rcv-ts-offset')}",
            error_code=ErrorCode.INVALID_CHANNEL,
        )
    if channel.has_explicit_control and channel.local_control.port == 0:
        raise ChannelValueError(
            "the control address of a subscription has port 0",
            where=channel.original,
            expected="control=host:port with a port",
            actual=f"control={channel.uri.get('control')}",
            error_code=ErrorCode.GENERIC_ERROR,
        )
