"""Rules of counters: positions do not step back, streams keep to the limits of flow control, and ids rest before they have a new owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.transport import TERM_LENGTH_MIN
from aerowire.codecs.tables.counters import CounterType
from aerowire.simulation.counter_watch import CounterWatch
from aerowire.simulation.scenarios.checker import Checker
from aerowire.simulation.scenarios.plan import REUSE_TIMEOUT_MS
from aerowire.simulation.scenarios.violation import ViolationError

if TYPE_CHECKING:
    from aerowire.simulation.host import SimulatedHost
    from aerowire.simulation.scenarios.run import Run

# The limit of a publication is none of them: it goes back to the position of what was read when the last subscriber has gone.
POSITIONS = (CounterType.SND_POS, CounterType.RCV_HWM, CounterType.SUB_POS, CounterType.RCV_POS, CounterType.PUB_POS)
# Of publishers, senders and receivers alike: half a term.
WINDOW = TERM_LENGTH_MIN // 2
# The last message before a limit may end behind it, and so may padding in its place. It has an eighth of a term, and headers of fragments.
LONGEST = TERM_LENGTH_MIN // 8 + 512
# Of the counters of a stream: a type, the type that bounds it, and by how much it may be beyond. PUB_LMT bounds nothing: see POSITIONS.
BOUNDS = (
    (CounterType.SND_POS, CounterType.SND_LMT, LONGEST),
    (CounterType.SND_POS, CounterType.PUB_POS, 0),
    (CounterType.PUB_POS, CounterType.SND_POS, WINDOW + LONGEST),
    (CounterType.PUB_LMT, CounterType.SND_POS, WINDOW + LONGEST),
    (CounterType.PUB_POS, CounterType.SUB_POS, WINDOW + LONGEST),
    (CounterType.PUB_LMT, CounterType.SUB_POS, WINDOW + LONGEST),
    (CounterType.RCV_POS, CounterType.RCV_HWM, 0),
    (CounterType.SUB_POS, CounterType.RCV_HWM, 0),
    (CounterType.RCV_HWM, CounterType.SUB_POS, WINDOW),
)


class Counters(Checker):
    """Looks at every running driver after each step in which it had a turn, as it has after any work on its host."""

    def __init__(self) -> None:
        self._watched: dict[str, WatchedDriver] = {}

    def on_step(self, run: Run) -> None:
        for host in run.drivers():
            watched = self._watched.get(host.address)
            if watched is None or watched.process is not host.driver_process:
                watched = self._watched[host.address] = WatchedDriver(host)
            if (turns := watched.process.turns) == watched.turns:
                continue
            watched.turns = turns
            breach = watched.watch.look(host.clock.now_ms())
            if breach is not None:
                label = host.cnc.counters_reader().label(breach.counter_id)
                where = f"{host.address}, counter {breach.counter_id} ({label})"
                raise ViolationError(breach.rule, breach.expected, breach.saw, where)


class WatchedDriver:
    """The counters of a driver from its start to its end."""

    __slots__ = ("process", "turns", "watch")

    def __init__(self, host: SimulatedHost) -> None:
        self.process = host.driver_process
        self.turns = 0  # at the last look
        self.watch = CounterWatch(
            host.cnc.counters_reader(),
            positions=POSITIONS,
            joined=(CounterType.SUB_POS,),
            bounds=BOUNDS,
            reuse_timeout_ms=REUSE_TIMEOUT_MS,
        )
