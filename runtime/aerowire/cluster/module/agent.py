"""The consensus module's agent: its cycle, from its recovery to its end. Aeron: ConsensusModuleAgent.

It serves client and archive, hands messages and results to the consensus machine, has the machine's effects carried out, and lets the
member do what is its own. No step waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from aerowire.archive.client.steps import Steps
from aerowire.base.agent import Agent
from aerowire.base.errors import AerowireError, ConsensusModuleError, StorageSpaceError
from aerowire.cluster.agents.events import LogMessage, LogReturned
from aerowire.cluster.consensus.inputs import LogCommitted, LogConsumed, LogRecorded, SendFailed
from aerowire.cluster.consensus.machine import ConsensusMachine
from aerowire.cluster.consensus.messages import CanvassPosition, Message
from aerowire.cluster.module.effects import Effects
from aerowire.cluster.module.log.log_consumption import LogConsumption
from aerowire.cluster.module.log.log_publisher import LogPublisher
from aerowire.cluster.module.log.log_recording import LogRecording
from aerowire.cluster.module.member import Member
from aerowire.cluster.module.recovery import Recovered, recover
from aerowire.codecs.flyweights.cluster.messages.termination_ack import TerminationAck
from aerowire.codecs.flyweights.cnc import ConsensusModuleState, ElectionState
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode

if TYPE_CHECKING:
    from aerowire.base.errors import ArchiveError
    from aerowire.client.context import Invoker
    from aerowire.client.subscriptions.image import Image
    from aerowire.cluster.agents.message_image import MessageImage
    from aerowire.cluster.consensus.inputs import Result
    from aerowire.cluster.files.mark_file import ClusterMarkFile
    from aerowire.cluster.module.composition import ModuleResources
    from aerowire.cluster.module.consensus_codec import Request
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.duty_cycle import DutyCycle
    from aerowire.cluster.module.idle_sleeper import IdleSleeper
    from aerowire.cluster.module.node_services.service_codec import Word

# How often the mark file shows that the consensus module lives, and services are looked after.
MARK_FILE_UPDATE_INTERVAL_MS = 1000


class ConsensusModuleAgent(Agent):
    """One member. Changed by one thread: its own, or the caller's of an invoker.

    Invariant: an effect's result reaches the machine after all effects that were returned with that one were carried out.
    """

    def __init__(
        self,
        core: ModuleCore,
        resources: ModuleResources,
        mark_file: ClusterMarkFile,
        duty_cycle: DutyCycle,
        *,
        invokers: Sequence[Invoker],
        sleeper: IdleSleeper,
    ) -> None:
        """`invokers` do the work of driver and client where they have no threads."""
        self.role_name = core.context.agent_role_name
        self.core = core
        self.machine: ConsensusMachine | None = None
        self._effects: Effects | None = None
        self._resources = resources
        self._mark_file = mark_file
        self._mark_file_deadline_ms = 0
        self._duty_cycle = duty_cycle
        self._invokers = invokers
        self._sleeper = sleeper
        self._inbox: deque[Message | Result] = deque()
        self._is_closed = False
        self.member = Member(core, resources.services)
        self._consensus_adapter = resources.consensus_adapter
        self._service_adapter = resources.service_adapter
        self._service_adapter.listen(self._on_service_word)
        steps = recover(core, resources.services.acks, self.member.load_snapshot, partial(self.member.extension.start, None))
        self._recovery: Steps[Recovered] | None = Steps("recover", steps)

    # The cycle

    def do_work(self, now_ns: int, epoch_ms: int, /) -> int:
        """Do what there is to do, without blocking; return how much that was."""
        if self._is_closed:
            return 0
        self._duty_cycle.measure(now_ns)
        consumer = self.core.context.cluster_time_consumer
        time = 0 if consumer is None else self.core.cluster_clock.time()
        try:
            work = self._serve(epoch_ms)
            work += self.core.log_agent.poll()
            heard = self._service_adapter.poll()
            if not heard:
                self.member.on_services_heard()
            work += heard
            if self._recovery is not None:
                work += self._recover(self._recovery, now_ns)
            else:
                work += self._consensus_adapter.poll()
                work += self._take_part(now_ns)
        except (AerowireError, OSError) as error:
            self.core.errors.record(error)
            self.member.end(str(error), is_expected=False)
            work = 1
        if self.member.has_ended:
            self.close()
            self._call(self.core.context.termination_hook)
        else:
            self._call(consumer, time)
        if work:
            self._sleeper.start_over()
        return work

    def next_deadline_ns(self) -> int:
        """Return now: what comes by streams wakes nothing."""
        return self.core.ports.clock.now_ns()

    @property
    def is_closed(self) -> bool:
        """Whether the member has ended."""
        return self._is_closed

    def close(self) -> None:
        """End the member at once: it leaves the log, tells its services, and closes its streams. Idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._recovery is not None:
            self._attempt(self._recovery.abandon)
        if not self.core.aeron.is_closed:
            self._attempt(self.member.close)
            if self._effects is not None:
                self._attempt(self._effects.close)
            for closeable in (
                self._consensus_adapter,
                self._service_adapter,
                self._resources.consensus_publisher,
                self._resources.services,
                self.core.archive,
            ):
                self._attempt(closeable.close)

    # The parts of a cycle

    def _serve(self, epoch_ms: int) -> int:
        """Do the work of driver, client and archive that is to be done here, and show that the member lives."""
        core = self.core
        work = core.client_errors.take(core.errors.record) if core.client_errors else 0
        for invoker in self._invokers:
            work += invoker.invoke()
        if core.aeron.conductor_agent_invoker is None:
            work += core.aeron.service()
        if epoch_ms >= self._mark_file_deadline_ms:
            self._mark_file_deadline_ms = epoch_ms + MARK_FILE_UPDATE_INTERVAL_MS
            self._mark_file.update_activity(epoch_ms)
        work += core.archive.poll()
        while core.signals.errors:
            self._on_archive_error(core.signals.errors.popleft())
        if not core.archive.is_connected:
            raise ConsensusModuleError("local archive is not connected", where=core.archive.context.control_request_channel)
        return work + self._resources.consensus_publisher.poll(core.ports.clock.now_ns()) + self._resources.services.poll()

    def _recover(self, recovery: Steps[Recovered], now_ns: int) -> int:
        if not recovery.poll():
            return 0
        recovered = recovery.result()
        self._recovery = None
        core, facts = self.core, recovered.facts
        recording = LogRecording(core, facts.log_recording_id, facts.append_position)
        log_publisher = LogPublisher(core, recording)
        consumption = LogConsumption(
            core.log_agent.proxy, self.member, service_count=core.context.service_count, position=facts.log_position
        )
        core.log_agent.listen(LogMessage, consumption.on_log_message)
        core.log_agent.listen(LogReturned, consumption.on_log_returned)
        self.member.extension.begin(recording, log_publisher)
        self._effects = Effects(
            core,
            recording=recording,
            log_publisher=log_publisher,
            consumption=consumption,
            consensus_publisher=self._resources.consensus_publisher,
            services=self._resources.services,
            listener=self.member,
            give=self._inbox.append,
        )
        member_ids = tuple(member.member_id for member in core.context.members)
        options, random = core.context.consensus_options, core.ports.random
        self.machine = ConsensusMachine(core.context.cluster_member_id, member_ids, options, random, facts)
        leader_log = self._effects.leader_log
        self.member.begin(
            recovered, self.machine, log_publisher, leader_log, consumption, self._resources.consensus_publisher, self._inbox.append
        )
        self._effects.carry_out(self.machine.start(now_ns))
        self.member.set_state(ConsensusModuleState.ACTIVE)
        self._consensus_adapter.begin(self._on_consensus_message)
        return 1

    def _take_part(self, now_ns: int) -> int:
        machine, effects = self.machine, self._effects
        assert machine is not None
        assert effects is not None  # it has recovered
        work = self._handle_inbox(machine, effects, now_ns)  # a term that the log begins is stored BEFORE the log goes on
        work += effects.poll()
        work += self._handle_inbox(machine, effects, now_ns)
        has_term = effects.leader_log.has_term or effects.follower_terms.has_term
        is_native = machine.state is ElectionState.CLOSED and has_term  # then the agent decides what is due
        if not is_native and not self.member.is_ending:
            effects.carry_out(machine.tick(now_ns))
        work += self._handle_inbox(machine, effects, now_ns)
        # How far the agent has come is noted, and no reason to look again soon: services would wait for the lock, once for each message.
        return (0 if is_native else work) + (0 if self.member.has_ended else self.member.do_work(now_ns))

    def _handle_inbox(self, machine: ConsensusMachine, effects: Effects, now_ns: int) -> int:
        """Give messages and results to the machine, in their order, and those that come of that; return how many.

        Nothing begins an election at a member that is about to end: its services, which were told to, would join no other term's log.
        A message that could not be sent does not count: it is tried again in each cycle, between which the thread may idle.
        """
        handled = 0
        while self._inbox and not self.member.has_ended:
            given = self._inbox.popleft()
            if self.member.is_ending and not isinstance(given, LogRecorded | LogCommitted | LogConsumed):
                continue
            handled += not isinstance(given, SendFailed)
            effects.carry_out(machine.handle(now_ns, given))
        return handled

    def _on_service_word(self, word: Word, image: Image) -> None:
        # A service knows only what the log has: what the agent has told of that comes FIRST.
        self.core.log_agent.poll()
        self.member.on_service_word(word, image)

    def _on_consensus_message(self, message: Message | Request, image: MessageImage) -> None:
        if isinstance(message, Message):
            self.core.events.message(message)
            if isinstance(message, CanvassPosition) and self._effects is not None:
                self._effects.leader_log.on_canvass_position(message)
            self._inbox.append(message)
        elif isinstance(message, TerminationAck):
            self.member.on_termination_ack(message)
        else:
            self.member.on_consensus_request(message, image)

    def _on_archive_error(self, error: ArchiveError) -> None:
        if error.error_code == ArchiveErrorCode.STORAGE_SPACE:
            raise StorageSpaceError(error.what, where=error.where, actual=error.actual)
        self.core.errors.record(error)

    def _attempt(self, action: Callable[[], object]) -> None:
        """Do something whose failure must not keep the rest from being closed."""
        try:
            action()
        except AerowireError as error:
            self.core.errors.record(error)

    def _call(self, function: Callable[..., object] | None, *given: int) -> None:
        """Call a function of the application, if there is one."""
        if function is not None:
            try:
                function(*given)
            except Exception as error:  # an application may raise anything
                self.core.errors.record(error)
