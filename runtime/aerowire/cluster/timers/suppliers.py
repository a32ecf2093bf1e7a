"""Timer services by the names that an option gives them. Aeron: TimerServiceSupplier and its two implementations."""

from __future__ import annotations

from aerowire.base.errors import ConfigurationError
from aerowire.cluster.timers.priority_heap_timer_service import PriorityHeapTimerService
from aerowire.cluster.timers.timer_service import TimerHandler, TimerService
from aerowire.cluster.timers.wheel_timer_service import WheelTimerService

_WHEEL = "io.aeron.cluster.WheelTimerServiceSupplier"
_PRIORITY_HEAP = "io.aeron.cluster.PriorityHeapTimerServiceSupplier"


def timer_service_named(
    name: str, where: str, on_timer_event: TimerHandler, *, nanoseconds_per_unit: int, tick_resolution_ns: int, ticks_per_wheel: int
) -> TimerService:
    """Return the timer service that a name stands for. Raises ConfigurationError.

    `where` is the option that has the name, `nanoseconds_per_unit` the length of the cluster clock's unit. A tick of the wheel has a power
    of two of units, at least as many as the resolution asks for.
    """
    if name == _PRIORITY_HEAP:
        return PriorityHeapTimerService(on_timer_event)
    if name == _WHEEL:
        units = max(1, tick_resolution_ns // nanoseconds_per_unit)
        resolution = 1 << (units - 1).bit_length()
        return WheelTimerService(on_timer_event, tick_resolution=resolution, ticks_per_wheel=ticks_per_wheel)
    raise ConfigurationError("there is no such timer service", where=where, expected=f"{_WHEEL} or {_PRIORITY_HEAP}", actual=repr(name))
