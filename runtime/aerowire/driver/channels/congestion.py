"""The congestion control of an image: chosen by channel and driver, with counters where it has something to tell.

Aeron: DefaultCongestionControlSupplier, CubicCongestionControlSupplier, PerImageIndicator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aerowire.base.errors import ChannelValueError
from aerowire.codecs.flyweights import cnc
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.protocol.congestion_control import CongestionControl, StaticWindowCongestionControl
from aerowire.protocol.cubic_congestion_control import CubicCongestionControl

if TYPE_CHECKING:
    from aerowire.driver.channels.udp_channel import UdpChannel
    from aerowire.driver.conductor.driver_core import DriverCore

_STATIC = "static"
_CUBIC = "cubic"

# Official suppliers, Java's and C's, and what each decides; None leaves it to the channel.
SUPPLIERS: Mapping[str, str | None] = {
    "io.aeron.driver.DefaultCongestionControlSupplier": None,
    "default": None,
    "aeron_congestion_control_default_strategy_supplier": None,
    "io.aeron.driver.ext.CubicCongestionControlSupplier": _CUBIC,
    "cubic": _CUBIC,
    "aeron_cubic_congestion_control_strategy_supplier": _CUBIC,
    "static": _STATIC,
    "aeron_static_window_congestion_control_strategy_supplier": _STATIC,
}

_INDICATORS = ("rcv-cc-cubic-rtt", "rcv-cc-cubic-wnd")


def make_congestion_control(
    core: DriverCore, channel: UdpChannel, session_id: int, stream_id: int, mtu: int, window_length: int, correlation_id: int
) -> tuple[CongestionControl, list[int]]:
    """Return an image's congestion control, and the counters that it writes and the image's owner frees; raises ChannelValueError."""
    context = core.context
    kind = SUPPLIERS[context.congestion_control_supplier] or channel.uri.get("cc") or _STATIC
    if kind == _STATIC:
        return StaticWindowCongestionControl(window_length), []
    if kind != _CUBIC:
        raise ChannelValueError(
            "unknown congestion control",
            where=channel.original,
            expected=f"{_STATIC} or {_CUBIC}",
            actual=f"cc={kind}",
            error_code=ErrorCode.GENERIC_ERROR,
        )
    counter_ids: list[int] = []
    try:
        for indicator in _INDICATORS:
            counter_ids.append(
                core.counters.stream(
                    CounterType.PER_IMAGE,
                    client_id=cnc.COUNTER_DRIVER_OWNER_ID,
                    registration_id=correlation_id,
                    session_id=session_id,
                    stream_id=stream_id,
                    channel=channel.original,
                    indicator=indicator,
                )
            )
        control = CubicCongestionControl(
            max_window_length=window_length,
            mtu=mtu,
            now_ns=core.ports.clock.now_ns(),
            initial_rtt_ns=context.cubic_congestion_control_initial_rtt_ns,
            measure_rtt=context.cubic_congestion_control_measure_rtt,
            tcp_mode=context.cubic_congestion_control_tcp_mode,
            counters=core.counters.manager,
            rtt_counter_id=counter_ids[0],
            window_counter_id=counter_ids[1],
        )
    except Exception:
        for counter_id in counter_ids:
            core.counters.manager.free(counter_id)
        raise
    return control, counter_ids
