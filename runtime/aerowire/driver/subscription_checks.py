"""What a subscription may not ask for."""

from __future__ import annotations

from aerowire.base.channel_uri import MEDIA_IPC, ChannelUri
from aerowire.base.errors import ChannelError, ChannelValueError
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.publication_checks import not_supported
from aerowire.driver.subscription_params import SubscriptionParams
from aerowire.driver.udp_channel import TIMESTAMP_OFFSET_NONE, ControlMode, UdpChannel


def refuse_spy(channel: str) -> ChannelError:
    """Return the error of a spy subscription."""
    return not_supported("spy subscriptions", ChannelUri.parse(channel), "aeron-spy")


def is_ipc_channel(channel: str) -> bool:
    """Return whether a command's channel is IPC by its beginning, which decides who parses it. Aeron: ClientCommandAdapter."""
    return channel.startswith(f"aeron:{MEDIA_IPC}")


def check_supported(uri: ChannelUri, params: SubscriptionParams) -> None:
    """Raise ChannelError when a subscription asks for what this driver does not do."""
    if params.is_response:
        raise not_supported("response channels", uri, "control-mode=response")
    if not params.is_tether:
        raise not_supported("subscriptions that a stream does not wait for", uri, "tether=false")


def check_network(channel: UdpChannel) -> None:
    """Raise ChannelError when a UDP channel is not one that can be subscribed to."""
    if channel.is_multicast:
        raise not_supported("multicast", channel.uri, "a multicast endpoint")
    if channel.control_mode is ControlMode.MANUAL:
        raise not_supported("multi-destination subscriptions", channel.uri, "control-mode=manual")
    if channel.uri.get("cc") == "cubic":
        raise not_supported("congestion control other than static", channel.uri, "cc=cubic")
    if channel.channel_rcv_timestamp_offset != TIMESTAMP_OFFSET_NONE:
        raise not_supported("channel timestamps", channel.uri, "channel-rcv-ts-offset")
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
