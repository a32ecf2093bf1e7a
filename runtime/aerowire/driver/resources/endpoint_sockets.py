"""Which socket a channel needs at its sending or receiving end, and where its answers go. Aeron: UdpChannelTransport."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.system.ports import SocketSpec

if TYPE_CHECKING:
    from aerowire.base.socket_address import SocketAddress
    from aerowire.driver.channels.udp_channel import UdpChannel
    from aerowire.driver.context import Context

NativeAddress = tuple[str, int] | tuple[str, int, int, int]


def sender_socket(channel: UdpChannel, context: Context, so_rcvbuf: int, so_sndbuf: int) -> SocketSpec:
    """Return the socket that publications on `channel` need: that of a multicast channel hears the control group."""
    return SocketSpec(
        bind=channel.local_control,
        connect=one_peer(channel) if context.driver_connect else None,
        so_sndbuf=so_sndbuf,
        so_rcvbuf=so_rcvbuf,
        group=channel.remote_control if channel.is_multicast else None,
        interface=channel.interface,
        ttl=multicast_ttl(channel, context),
    )


def one_peer(channel: UdpChannel) -> SocketAddress | None:
    """Return where publications on `channel` send to, unless that is for destinations or answers to tell."""
    return channel.remote_data if channel.has_one_peer else None


def receiver_socket(channel: UdpChannel, context: Context, so_rcvbuf: int, so_sndbuf: int) -> SocketSpec:
    """Return the socket that subscriptions on `channel` need: that of a multicast channel hears the data group."""
    return SocketSpec(
        bind=channel.remote_data,
        connect=None,
        so_sndbuf=so_sndbuf,
        so_rcvbuf=so_rcvbuf,
        group=channel.remote_data if channel.is_multicast else None,
        interface=channel.interface,
        ttl=multicast_ttl(channel, context),
    )


def multicast_ttl(channel: UdpChannel, context: Context) -> int:
    """Return what SETUP frames tell and receivers compare with their own; 0 for unicast, or when the system decides."""
    if not channel.is_multicast:
        return 0
    return context.socket_multicast_ttl if channel.multicast_ttl is None else channel.multicast_ttl


def explicit_control(channel: UdpChannel) -> NativeAddress | None:
    """Return the control address that a receiving channel names, for its transport."""
    return channel.local_control.native if channel.has_explicit_control else None


def multicast_control(channel: UdpChannel) -> NativeAddress | None:
    """Return the control group that receivers of a multicast channel answer to."""
    return channel.remote_control.native if channel.is_multicast else None
