"""Threads of a node whose native agents share one: those of driver, archive and consensus module take turns in it.

A message's way through a node has no change of threads then, and a machine with few cores no threads that look for work in vain.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from aerowire.agents.agent_group import AgentGroup
from aerowire.agents.woken_idle import WokenIdleStrategy
from aerowire.base.idle import IdleStrategy
from aerowire.base.runner import AgentInvoker, AgentRunner, NativeAgent
from aerowire.system.ports import Ports
from aerowire.system.threads import SystemThreads
from aerowire.system.waiting import SystemWaiting

if TYPE_CHECKING:
    from aerowire.base.agent import Agent, Sleeper
    from aerowire.base.ports import ClockPort
    from aerowire.system.threads import Runner, RunnerOptions

_LOOK_NS = 500_000  # between two looks whether the thread has gone on


def with_one_thread(ports: Ports | None) -> Ports:
    """Return ports, the system's unless others are given, by which native agents share a thread."""
    return replace(ports or Ports.system(), threads=NodeThreads())


class NodeThreads(SystemThreads):
    """The ThreadPort of one node. Its thread idles by the strategy of the first agents, and is pinned as they are.

    Python agents get threads of their own, and so do native agents that are to be told of their thread, or that bring one.
    """

    def __init__(self) -> None:
        """Start without a thread: the first agents begin it, the last ones end it."""
        self._lock = threading.Lock()
        self._waiting = SystemWaiting()
        self._group = AgentGroup()
        self._idle: WokenIdleStrategy | None = None
        self._thread: AgentRunner | None = None

    def new_runner(
        self,
        agents: Sequence[NativeAgent | Agent],
        clock: ClockPort,
        idle: IdleStrategy | Sleeper,
        **options: Unpack[RunnerOptions],
    ) -> Runner:
        """Return a place in the node's thread for native agents, and a runner of the system's for others."""
        has_own_thread = options.get("on_start") is not None or options.get("thread_factory") is not None
        if isinstance(idle, IdleStrategy) and not has_own_thread and all(isinstance(agent, NativeAgent) for agent in agents):
            return _Place(self, AgentInvoker(agents, clock), clock, idle, options.get("role_name"), options.get("cpu"))
        return super().new_runner(agents, clock, idle, **options)

    @property
    def is_running(self) -> bool:
        """Whether the thread runs."""
        return self._thread is not None and self._thread.is_running

    def admit(self, invoker: AgentInvoker, clock: ClockPort, idle: IdleStrategy, cpu: int | None) -> None:
        """Run agents that were started, in the node's thread, which begins with the first ones."""
        with self._lock:
            if self._thread is None:
                self._idle = idle if isinstance(idle, WokenIdleStrategy) else WokenIdleStrategy(idle)
                self._thread = AgentRunner([self._group], clock, self._idle, cpu=cpu)
                self._thread.start()
            elif isinstance(idle, WokenIdleStrategy) and self._idle is not None and idle is not self._idle:
                idle.follow(self._idle)
            self._group.add(invoker)
            self._wake()

    def dismiss(self, invoker: AgentInvoker, timeout_s: float | None) -> bool:
        """Stop running agents; return whether the thread stopped running them in time. It ends with the last ones."""
        with self._lock:
            self._group.remove(invoker)
            if not self._await_cycles(timeout_s):
                return False
            self._group.forget(invoker)
            if self._group.is_empty and self._thread is not None:
                self._thread.stop(timeout_s)
                self._thread = None
            return True

    def _await_cycles(self, timeout_s: float | None) -> bool:
        """Wait until the thread has ended, or has begun two more cycles: then it no longer runs what was removed before."""
        end = self._group.cycles + 2
        deadline_ns = None if timeout_s is None else self._waiting.now_ns() + int(timeout_s * 1e9)
        while self.is_running and self._group.cycles < end:
            if deadline_ns is not None and self._waiting.now_ns() >= deadline_ns:
                return False
            self._wake()
            self._waiting.sleep(_LOOK_NS)
        return True

    def _wake(self) -> None:
        if self._idle is not None:
            self._idle.wake()


class _Place:
    """The agents of one part in the node's thread: a Runner."""

    def __init__(
        self, threads: NodeThreads, invoker: AgentInvoker, clock: ClockPort, idle: IdleStrategy, role_name: str | None, cpu: int | None
    ) -> None:
        self.role_name = role_name or invoker.role_name
        self._threads = threads
        self.invoker = invoker
        self._clock, self._idle, self._cpu = clock, idle, cpu
        self._is_admitted = False

    def start(self) -> None:
        """Run the agents in the node's thread."""
        self.invoker.start()
        self._threads.admit(self.invoker, self._clock, self._idle, self._cpu)
        self._is_admitted = True

    def stop(self, timeout_s: float | None = None) -> bool:
        """Stop running the agents, and close them; return whether the thread stopped running them in time."""
        if self._is_admitted:
            if not self._threads.dismiss(self.invoker, timeout_s):
                return False
            self._is_admitted = False
            self.invoker.close()
        return True

    @property
    def is_running(self) -> bool:
        """Whether the agents run."""
        return self._is_admitted and self._threads.is_running
