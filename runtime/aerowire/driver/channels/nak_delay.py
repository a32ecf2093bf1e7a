"""How long an image waits before it asks for what is missing. Aeron: DriverConductor.resolveDelayGenerator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.protocol.delay import DelayGenerator, OptimalMulticastDelay, StaticDelay

if TYPE_CHECKING:
    from aerowire.base.ports import RandomPort
    from aerowire.driver.channels.udp_channel import UdpChannel
    from aerowire.driver.context import Context

# A NAK that is not delayed at all is still not repeated without pause. Aeron: Configuration.NAK_UNICAST_DELAY_MIN_VALUE_NS.
_RETRY_BASIS_MIN_NS = 1_000


def make_nak_delay(channel: UdpChannel, context: Context, random: RandomPort, *, is_group: bool) -> DelayGenerator:
    """Make the delays of one image; those of a group are its own random sequence."""
    if is_group:
        return OptimalMulticastDelay(context.nak_multicast_max_backoff_ns, context.nak_multicast_group_size, random.u64())
    delay_ns = channel.nak_delay_ns if channel.nak_delay_ns is not None else context.nak_unicast_delay_ns
    return StaticDelay(delay_ns, max(delay_ns, _RETRY_BASIS_MIN_NS) * context.nak_unicast_retry_delay_ratio)
