"""What a world has to keep, looked at after every step, and at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.codecs.tables.counters import CounterType
from aerowire.simulation.counter_watch import CounterWatch
from aerowire.simulation.scenarios.plan import SECOND
from aerowire.simulation.scenarios.violation import ViolationError

if TYPE_CHECKING:
    from aerowire.simulation.scenarios.run import Run

# The limit of a publication is none of them: it goes back to the position of what was read when the last subscriber has gone.
POSITIONS = (CounterType.SND_POS, CounterType.RCV_HWM, CounterType.SUB_POS, CounterType.RCV_POS, CounterType.PUB_POS)
# Within which everything that lives is connected again, once all faults have ended: several times the longest timeout of the drivers.
RECOVERY_NS = 60 * SECOND


class Checker:
    """A rule. Methods raise ViolationError where it is broken; those that a rule has no use for look at nothing."""

    def on_step(self, run: Run) -> None:
        """Look at the world after a step."""

    def on_recovered(self, run: Run) -> None:
        """Look at the world when all faults have ended, and everything has had time to recover."""

    def on_end(self, run: Run) -> None:
        """Look at the world when all clients have ended, and their drivers have had time to notice."""


class Positions(Checker):
    """Positions never step back while a counter has the same owner."""

    def __init__(self) -> None:
        self._watches: dict[str, tuple[object, CounterWatch]] = {}

    def on_step(self, run: Run) -> None:
        for host in run.drivers():
            cnc = host.cnc
            kept = self._watches.get(host.address)
            if kept is None or kept[0] is not cnc:
                kept = self._watches[host.address] = cnc, CounterWatch(cnc.counters_reader(), POSITIONS)
            if (found := kept[1].look()) is not None:
                counter_id, before, now = found
                label = cnc.counters_reader().label(counter_id)
                raise ViolationError("positions never step back", f">= {before}", now, f"{host.address}, counter {counter_id} ({label})")


class Progress(Checker):
    """Once all faults have ended, each stream brings new messages to each of its subscribers within a bounded time."""

    def on_recovered(self, run: Run) -> None:
        stalled = [(stream, host) for (stream, host), count in run.received_since_recovery().items() if count == 0]
        if stalled:
            stream, host = stalled[0]
            expected = f"a message within {RECOVERY_NS // SECOND} s of the end of all faults"
            raise ViolationError(
                "what lives makes progress", expected, run.what_it_waits_for(stream, host), f"stream {stream} at host {host}"
            )


class Leftovers(Checker):
    """When all clients have ended, no counter and no file of theirs is left."""

    def on_end(self, run: Run) -> None:
        for host in run.drivers():
            if counters := run.counters_left(host):
                raise ViolationError("the dead leave nothing behind", "the driver's own counters", counters[:3], host.address)
            if files := sorted(run.files_left(host)):
                raise ViolationError("the dead leave nothing behind", "the driver's own files", files[:3], host.address)


CHECKERS: tuple[type[Checker], ...] = (Positions, Progress, Leftovers)
