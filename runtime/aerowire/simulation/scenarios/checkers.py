"""What a world has to keep, looked at after every step, and at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.simulation.scenarios.checker import Checker
from aerowire.simulation.scenarios.connection_rules import Connections, Ends, Lives
from aerowire.simulation.scenarios.counter_rules import Counters
from aerowire.simulation.scenarios.plan import SECOND
from aerowire.simulation.scenarios.violation import ViolationError

if TYPE_CHECKING:
    from aerowire.simulation.scenarios.run import Run

__all__ = ["CHECKERS", "RECOVERY_NS", "Checker", "Connections", "Counters", "Ends", "Leftovers", "Lives", "Progress"]

# Within which everything that lives is connected again, once all faults have ended: several times the longest timeout of the drivers.
RECOVERY_NS = 60 * SECOND


class Progress(Checker):
    """Once all faults have ended, each stream brings new messages to each of its subscribers within a bounded time."""

    def on_recovered(self, run: Run) -> None:
        stalled = [key for key, count in run.received_since_recovery().items() if count == 0]
        if stalled:
            stream, number = stalled[0]
            expected = f"a message within {RECOVERY_NS // SECOND} s of the end of all faults"
            where = f"stream {stream} at host {run.host_of(stream, number)}"
            raise ViolationError("what lives makes progress", expected, run.what_it_waits_for(stream, number), where)


class Leftovers(Checker):
    """When all clients have ended, no counter, file, port, mapping and lock of theirs is left."""

    def on_end(self, run: Run) -> None:
        for host in run.drivers():
            for what, left in run.left(host).items():
                if left:
                    raise ViolationError("the dead leave nothing behind", f"the driver's own {what}", left[:3], host.address)


CHECKERS: tuple[type[Checker], ...] = (Counters, Lives, Progress, Connections, Ends, Leftovers)
