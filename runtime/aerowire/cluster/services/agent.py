"""The agent of a service container: what it does in each cycle. Aeron: ClusteredServiceAgent.

Nothing here waits. What takes several steps, such as a snapshot, is an operation: while one is under way, nothing is read from the log.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from aerowire.archive.client.steps import Steps
from aerowire.base.agent import Agent
from aerowire.base.units import INT64_MAX
from aerowire.cluster.services.client_sessions import ClientSessions
from aerowire.cluster.services.cluster import Cluster
from aerowire.cluster.services.core import ContainerTermination
from aerowire.cluster.services.log_adapter import BoundedLogAdapter
from aerowire.cluster.services.log_events import LogEvents
from aerowire.cluster.services.operations import Operations
from aerowire.cluster.services.service_adapter import ServiceAdapter
from aerowire.cluster.services.service_idle import ServiceIdleStrategy
from aerowire.cluster.services.snapshots import Snapshots
from aerowire.codecs.flyweights.cluster.enums import BooleanType
from aerowire.codecs.flyweights.cluster.messages.join_log import JoinLog
from aerowire.codecs.flyweights.cluster.messages.service_termination_position import ServiceTerminationPosition

if TYPE_CHECKING:
    from aerowire.archive.conductor.duty_cycle import DutyCycleTracker
    from aerowire.client.context import Invoker
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.cluster.services.container_sleeper import ContainerSleeper
    from aerowire.cluster.services.core import ContainerCore
    from aerowire.cluster.services.service_adapter import ServiceMessage
    from aerowire.cluster.services.snapshots import Operation

# How often the container looks at what does not wake it: its client, the consensus module's counter.
_TICK_NS = 1_000_000
_MARK_FILE_UPDATE_INTERVAL_MS = 1000
# When nothing happens, and nothing wakes it.
_LOOK_INTERVAL_NS = 100_000_000


class AgentStage(enum.Enum):
    """How far the life of a container has come."""

    RUNNING = enum.auto()
    ENDING = enum.auto()  # its streams close, and its client
    CLOSED = enum.auto()


class ClusteredServiceAgent(Agent):
    """Runs one service. Invariant: everything here is touched by one thread at a time, the agent's own or the caller's of an invoker."""

    def __init__(
        self,
        core: ContainerCore,
        subscription: Subscription,
        duty_cycle: DutyCycleTracker,
        sleeper: ContainerSleeper,
        invokers: Sequence[Invoker],
    ) -> None:
        """`subscription` is that to the consensus module; `invokers` do the work of what has no threads."""
        self.role_name = core.context.service_name
        self.core = core
        self.stage = AgentStage.RUNNING
        self.termination: ContainerTermination | None = None
        self._duty_cycle = duty_cycle
        self._sleeper = sleeper
        self._invokers = invokers
        calls = core.calls
        self.log = core.log = BoundedLogAdapter(calls.on_session_message, self._on_event, calls.on_batch, core.context.batch_limit)
        idle = ServiceIdleStrategy(core.context.new_idle_strategy(), core.ports.waiting, self._work_while_waiting)
        self.cluster = Cluster(core, self.log, idle)
        self.sessions = ClientSessions(core, self.log)
        self.cluster.attach(self.sessions)
        self._adapter = ServiceAdapter(subscription, self._on_service_message)
        self._snapshots = Snapshots(core, self.sessions, self.cluster)
        self._operations = Operations(core, self.log, self.sessions, self.cluster, self._snapshots)
        self._events = LogEvents(core, self.log, self.sessions, self.cluster, self._snapshots, self._begin)
        self._operation: Steps[Any] | None = None
        self._joining: JoinLog | None = None
        self._termination_position: ServiceTerminationPosition | None = None
        self._requested_ack_position: int | None = None
        self._next_tick_ns = -INT64_MAX
        self._mark_file_deadline_ms = 0
        self._is_close_requested = False
        self._closing: Pending[None] | None = None
        sleeper.watch(self.log, subscription)

    # ---- the agent

    def on_start(self) -> None:
        """Begin to start the service."""
        self._begin(f"start service {self.core.context.service_id}", self._operations.start())

    def do_work(self, now_ns: int, epoch_ms: int, /) -> int:
        """Do what there is to do, without blocking; return how much that was."""
        if self.stage is not AgentStage.RUNNING:
            return self._proceed_ending()
        try:
            work = self._cycle(now_ns, epoch_ms)
        except ContainerTermination as termination:
            self._end(termination)
            return 1
        except Exception as error:
            self.core.errors.record(error)
            if self.core.aeron.is_closed:  # each cycle would fail until the next tick
                self._end(ContainerTermination("the client of the driver has ended"))
            return 1
        except BaseException as error:
            self._end(ContainerTermination(f"{type(error).__name__} in the service"))
            raise
        if work:
            self._sleeper.start_over()
        return work

    def on_close(self) -> None:
        """Close what is left: no cycle comes any more. The client's threads may outlive this, and end by themselves."""
        if self.stage is AgentStage.RUNNING:
            self._end(ContainerTermination("the container's thread has ended", is_expected=self._is_close_requested))
        self._proceed_ending()
        if self.stage is not AgentStage.CLOSED:
            self._finish()

    def next_deadline_ns(self) -> int:
        """Return when there is work although nothing wakes the container."""
        if self.stage is AgentStage.CLOSED:
            return INT64_MAX
        core, now_ns = self.core, self.core.ports.clock.now_ns()
        has_background_work = core.calls.has_background_work or bool(core.context.agent_invokers)
        if self.stage is AgentStage.ENDING or self._operation is not None or has_background_work:
            return now_ns
        tick_ns = self._next_tick_ns if self._sleeper.has_answers() else INT64_MAX
        return min(now_ns + _LOOK_INTERVAL_NS, max(now_ns, min(tick_ns, core.aeron.next_deadline_ns())))

    def has_news(self) -> bool:
        """Return whether something has come by the log, from the consensus module or from the driver. The agent's thread."""
        return self._sleeper.has_news()

    @property
    def is_closed(self) -> bool:
        """Whether the container has ended and closed everything."""
        return self.stage is AgentStage.CLOSED

    def request_close(self) -> None:
        """Let the container end; `is_closed` tells when it has. Any thread."""
        self._is_close_requested = True
        self._sleeper.wake()

    # ---- a cycle

    def _cycle(self, now_ns: int, epoch_ms: int) -> int:
        self._duty_cycle.measure(now_ns, self._sleeper.take_slept_ns())
        if now_ns >= self._next_tick_ns:
            self._tick(now_ns, epoch_ms)
        work = self._adapter.poll()
        if self._operation is None:
            self._begin_next()
        if self._operation is not None:
            work += self._proceed(self._operation)
        else:
            work += self._read_log()
        if self._operations.is_service_active:
            work += self._do_background_work(now_ns)
        return work

    def _read_log(self) -> int:
        polled = self.log.poll(self.core.context.log_fragment_limit)
        if polled == 0 and self.log.image is not None and self.log.is_done:
            self._operations.leave()
        return polled

    def _begin(self, what: str, operation: Operation) -> None:
        self._operation = Steps(what, operation)

    def _begin_next(self) -> None:
        """Begin what the consensus module has asked for, once the service has come to where it is asked for."""
        if self._joining is not None and self.log.image is None:
            message, self._joining = self._joining, None
            join = self._operations.join(message, self._events, lambda: self._joining is not None)
            self._begin(f"join the log at {message.log_position}", join)
            return
        termination = self._termination_position
        if termination is not None and self.log.log_position >= termination.log_position:
            self._termination_position = None
            is_ack_required = termination.ack_required != BooleanType.FALSE  # versions that do not say so require one
            self._begin("terminate", self._operations.terminate(termination.log_position, is_ack_required=is_ack_required))
        elif self._requested_ack_position is not None and self.log.log_position >= self._requested_ack_position:
            position, self._requested_ack_position = self._requested_ack_position, None
            self._begin(f"acknowledge {position}", self._operations.acknowledge(position))

    def _proceed(self, operation: Steps[Any]) -> int:
        if not operation.poll():
            return 0
        self._operation = None
        operation.result()
        return 1

    def _do_background_work(self, now_ns: int) -> int:
        if not self.core.calls.has_background_work:
            return 0
        with self.core.guard.within("do_background_work"):
            return self.core.calls.do_background_work(now_ns) or 0

    def _work_while_waiting(self) -> None:
        """Do what must go on while a callback of the service waits. Raises ContainerTermination."""
        now_ns = self.core.ports.clock.now_ns()
        if now_ns >= self._next_tick_ns:
            self._tick(now_ns, self.core.ports.clock.now_ms())
        if self._operations.is_service_active:
            self._do_background_work(now_ns)

    def _tick(self, now_ns: int, epoch_ms: int) -> None:
        self._next_tick_ns = now_ns + _TICK_NS
        if self.core.client_errors:
            self.core.client_errors.take(self.core.errors.record)
        if self._is_close_requested:
            raise ContainerTermination("closed", is_expected=True)
        if self.core.aeron.is_closed:
            raise ContainerTermination("the client of the driver has ended")
        self._sleeper.note_answers()
        for invoker in self._invokers:
            invoker.invoke()
        commit_position = self._operations.commit_position
        if commit_position is not None and commit_position.is_closed:
            self.core.errors.warn("commit-pos counter unexpectedly closed, terminating")
            raise ContainerTermination("the consensus module has gone", is_expected=True)
        if epoch_ms >= self._mark_file_deadline_ms:
            self._mark_file_deadline_ms = epoch_ms + _MARK_FILE_UPDATE_INTERVAL_MS
            self.core.mark_file.update_activity(epoch_ms)

    # ---- what the consensus module and the log say

    def _on_service_message(self, message: ServiceMessage) -> None:
        if isinstance(message, JoinLog):
            self.log.stop_at(message.log_position)
            self._joining = message
        elif isinstance(message, ServiceTerminationPosition):
            self._termination_position = message
        else:
            self._requested_ack_position = message.log_position

    def _on_event(self, template_id: int, message: bytes, position: int) -> bool:
        return self._events.on_event(template_id, message, position)

    # ---- the end

    def _end(self, termination: ContainerTermination) -> None:
        self.stage = AgentStage.ENDING
        self.termination = termination
        if not termination.is_expected:
            self.core.errors.record(termination)
        hook = self.core.context.termination_hook
        if hook is not None and not self._is_close_requested:
            self._attempt(hook)

    def _proceed_ending(self) -> int:
        if self.stage is AgentStage.CLOSED:
            return 0
        if self._closing is None:
            self._closing = self._close_streams()
        if not self._closing.poll():
            return 0
        self._finish()
        return 1

    def _finish(self) -> None:
        self._attempt(self.core.mark_file.close)
        self.stage = AgentStage.CLOSED

    def _close_streams(self) -> Pending[None]:
        """Close everything, and return the end of the client, where it is the container's own."""
        if self._operation is not None:
            self._attempt(self._operation.abandon)
            self._operation = None
        self._operations.end_service()
        image = self.log.leave()
        closing = [self._adapter.close, self.core.proxy.close, self.sessions.disconnect_all]
        if image is not None and image.subscription is not None:
            closing.insert(0, image.subscription.close)
        closing += [counter.close for counter in self.core.counters.values()] if self.core.context.aeron is not None else []
        for close in closing if not self.core.aeron.is_closed else ():
            self._attempt(close)
        if self.core.context.aeron is not None:
            return Steps("close the container", _nothing())
        return self.core.aeron.async_close()

    def _attempt(self, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception as error:
            self.core.errors.record(error)


def _nothing() -> Operation:
    """Return steps that are done at once."""
    yield from ()
