"""The processes of a node that are launched in steps and then invoked: the consensus module, and the containers of services."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aerowire.base.errors import AerowireError
from aerowire.codecs.flyweights.cnc import ElectionState
from aerowire.simulation.process import ProcessState
from aerowire.simulation.scenarios.plan import MS
from aerowire.simulation.sleeping_agent import SleepingAgent

if TYPE_CHECKING:
    from aerowire.simulation.host import SimulatedHost
    from aerowire.simulation.process import Process

_LOOK_NS = 10 * MS  # how often a process looks for what no turn of another one tells it of
_CALM_LOOK_NS = 25 * MS  # outside of elections, where heartbeats are sent each 50 ms


class LaunchedProcess:
    """A process with something that is launched, then invoked, and may end by itself. Changed by the world, and by `leave`."""

    def __init__(self, host: SimulatedHost, name: str, launch: Callable[..., Any], note: Callable[[str], object]) -> None:
        """`launch` takes the ports and returns a launch to be polled; `note` keeps an event of the host."""
        self.running: Any = None
        self.process: Process = host.new_process(name)
        self._note = note
        ports = host.ports_for(self.process)
        self._clock = ports.clock
        self._closing: Any = None
        self._launching = launch(ports=ports)
        self.process.on_kill(lambda: host.keep_until_the_end(self._launching, self.running))
        self.process.start(self._work, self._next_deadline_ns, looks=False)

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return self.process.state is ProcessState.ENDED

    def leave(self) -> None:
        """End in order."""
        if self.running is None:
            self.process.kill()
        elif self._closing is None:
            self._closing = self.running.async_close()
            self.process.wake()

    def _work(self) -> int:
        try:
            return self._run()
        except (AerowireError, OSError) as error:
            self._note(f"{self.process.name} ends: {error}")
            self.process.kill()
            return 1

    def _run(self) -> int:
        if self.running is None:
            if not self._launching.poll():
                return 0
            self.running = self._launching.result()
            return 1
        if self._closing is None:
            work = self._invoke()
            if self.running.has_ended:
                self._closing = self.running.async_close()
            return work
        if not self._closing.poll():
            return 0
        self._closing.result()
        self.process.end()
        return 1

    def _next_deadline_ns(self) -> int:
        is_running = self.running is not None and self._closing is None
        return self._deadline_ns() if is_running else self._clock.now_ns() + _LOOK_NS

    def _invoke(self) -> int:
        """Run a cycle of what was launched; return how much was done."""
        work: int = self.running.invoker.invoke()
        return work

    def _deadline_ns(self) -> int:
        """Return when what was launched has work although nothing comes."""
        raise NotImplementedError


class ModuleProcess(LaunchedProcess):
    """A consensus module."""

    def _deadline_ns(self) -> int:
        machine = self.running.agent.machine
        is_calm = machine is not None and machine.state is ElectionState.CLOSED
        look_ns = self._clock.now_ns() + (_CALM_LOOK_NS if is_calm else _LOOK_NS)
        native_ns: int = self.running.invoker.next_native_deadline_ns()
        return min(look_ns, native_ns)


class ContainerProcess(LaunchedProcess):
    """A container of a service: it sleeps until the log, the consensus module or the driver have something for it."""

    _agent: SleepingAgent | None = None

    def _invoke(self) -> int:
        if self._agent is None:
            self._agent = SleepingAgent(
                self.running.invoker.invoke, self.running.agent.next_deadline_ns, self.running.agent.has_news, self._clock
            )
        return self._agent.work()

    def _deadline_ns(self) -> int:
        return self._clock.now_ns() if self._agent is None else self._agent.next_deadline_ns()
