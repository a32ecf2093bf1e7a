"""The clock of a cluster: the time in the log, in the unit that all members agree on. Aeron: ClusterClock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from aerowire.base.errors import ConfigurationError
from aerowire.codecs.flyweights.cluster.enums import ClusterTimeUnit

if TYPE_CHECKING:
    from aerowire.base.ports import ClockPort

NANOSECONDS_OF: Final[Mapping[ClusterTimeUnit, int]] = {
    ClusterTimeUnit.MILLIS: 1_000_000,
    ClusterTimeUnit.MICROS: 1_000,
    ClusterTimeUnit.NANOS: 1,
}
# The official classes by name, and the unit that has none.
_UNITS: Final[Mapping[str, ClusterTimeUnit]] = {
    "io.aeron.cluster.MillisecondClusterClock": ClusterTimeUnit.MILLIS,
    "io.aeron.cluster.NanosecondClusterClock": ClusterTimeUnit.NANOS,
    "milliseconds": ClusterTimeUnit.MILLIS,
    "microseconds": ClusterTimeUnit.MICROS,
    "nanoseconds": ClusterTimeUnit.NANOS,
}


class ClusterClock:
    """Epoch time in a unit. It may step with the machine's clock: what times out is measured by the ports' own nanoseconds."""

    def __init__(self, clock: ClockPort, time_unit: ClusterTimeUnit) -> None:
        """Take the time from a port."""
        self.time_unit = time_unit
        self._clock = clock
        self._nanoseconds = NANOSECONDS_OF[time_unit]

    def time(self) -> int:
        """Return the epoch time in the cluster's unit."""
        return self._clock.now_epoch_ns() // self._nanoseconds

    def time_ns(self) -> int:
        """Return the same time in nanoseconds."""
        return self.time() * self._nanoseconds


def time_unit_named(name: str, where: str) -> ClusterTimeUnit:
    """Return the unit of the clock that an option names. Raises ConfigurationError."""
    unit = _UNITS.get(name)
    if unit is None:
        raise ConfigurationError("there is no such cluster clock", where=where, expected=f"one of {', '.join(_UNITS)}", actual=repr(name))
    return unit
