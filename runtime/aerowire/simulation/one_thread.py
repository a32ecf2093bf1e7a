"""The ports of a world that one thread runs: a call that waits would stop the whole world, and is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn, Unpack

from aerowire.base.errors import BlockingCallError
from aerowire.base.ports import WakeupPort

if TYPE_CHECKING:
    from aerowire.base.agent import Agent, Sleeper
    from aerowire.base.idle import IdleStrategy
    from aerowire.base.ports import ClockPort
    from aerowire.base.runner import NativeAgent
    from aerowire.system.threads import RunnerOptions

_WHERE = "a simulated world"
_HINT = "one thread runs the whole world, and time passes only between the calls of its processes"


class SimulatedWaiting:
    """The WaitPort of a process in the world: every wait is refused."""

    is_refused = True

    def __init__(self, clock: ClockPort) -> None:
        self._clock = clock

    def require(self, call: str, instead: str) -> NoReturn:
        """Raise BlockingCallError."""
        raise _refusal(f"{call} waits", instead)

    def now_ns(self) -> int:
        """Return the simulated time."""
        return self._clock.now_ns()

    def sleep(self, duration_ns: int) -> NoReturn:
        """Raise BlockingCallError."""
        raise _refusal(f"a sleep of {duration_ns} ns", "a deadline, and to be called again when it has come")


class SimulatedThreads:
    """The ThreadPort of a process in the world: there is one thread, which is the world's."""

    def new_runner(
        self,
        agents: Sequence[NativeAgent | Agent],
        clock: ClockPort,
        idle: IdleStrategy | Sleeper,
        **options: Unpack[RunnerOptions],
    ) -> NoReturn:
        """Raise BlockingCallError."""
        del clock, idle
        raise _no_thread(options.get("role_name") or "+".join(agent.role_name for agent in agents))

    def new_thread(self, target: Callable[[], None], name: str) -> NoReturn:
        """Raise BlockingCallError."""
        del target
        raise _no_thread(name)


class SimulatedWakeup(WakeupPort):
    """A wake-up whose sleeper is never asleep: the world calls it when there is work."""

    def sleep(self, timeout_ns: int) -> NoReturn:
        """Raise BlockingCallError."""
        raise _refusal(f"a sleep of {timeout_ns} ns", "drain(), and to be called again")


def _no_thread(name: str) -> BlockingCallError:
    instead = "an invoker: use_conductor_agent_invoker=True of a client, threading_mode=INVOKER of a driver"
    return _refusal(f"a thread of its own for {name}", instead)


def _refusal(what: str, instead: str) -> BlockingCallError:
    return BlockingCallError(f"{what}, and nothing may wait here", where=_WHERE, expected=instead, hint=_HINT)
