"""The start of a service and its way into a log, step by step. Aeron: ClusteredServiceAgent.recoverState, joinActiveLog, terminate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.agents.error_recorder import describe
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ClusterServiceError
from aerowire.base.units import NULL_VALUE
from aerowire.client.handles.readable_counter import ReadableCounter
from aerowire.cluster.services.core import ContainerTermination
from aerowire.cluster.services.recovery_state import find_commit_position, find_recovery_state
from aerowire.codecs.flyweights.cluster.enums import BooleanType
from aerowire.codecs.flyweights.cnc import ClusterRole

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.cluster.services.client_sessions import ClientSessions
    from aerowire.cluster.services.cluster import Cluster
    from aerowire.cluster.services.core import ContainerCore
    from aerowire.cluster.services.log_adapter import BoundedLogAdapter
    from aerowire.cluster.services.log_events import LogEvents
    from aerowire.cluster.services.recovery_state import RecoveryState
    from aerowire.cluster.services.snapshots import Operation, Snapshots
    from aerowire.codecs.flyweights.cluster.messages.join_log import JoinLog

_ACK_ATTEMPTS = 5  # of a service that ends, as officially


class Operations:
    """What a service does between two messages of its log. The agent's thread.

    `is_service_active` tells whether the service has started, and was not told yet that it ends.
    """

    def __init__(
        self, core: ContainerCore, log: BoundedLogAdapter, sessions: ClientSessions, cluster: Cluster, snapshots: Snapshots
    ) -> None:
        self._core = core
        self._log = log
        self._sessions = sessions
        self._cluster = cluster
        self._snapshots = snapshots
        self.commit_position: ReadableCounter | None = None
        self.is_service_active = False

    def start(self) -> Operation:
        """Wait for the consensus module, start the service from its snapshot or from nothing, and acknowledge.

        Raises ContainerTermination, AFTER the acknowledgement, where the service does not start.
        """
        core, counters, cluster_id = self._core, self._core.aeron.counters_reader, self._core.context.cluster_id
        # The commit position AFTER the recovery state: the counter of a module that was killed stays for a while, and then goes.
        while (state := find_recovery_state(counters, cluster_id)) is None or (found := find_commit_position(counters, cluster_id)) is None:
            yield None
        self.commit_position = ReadableCounter(counters, found.counter_id, found.registration_id)
        self._log.bound(counters, found.counter_id)
        self._log.advance(state.log_position, state.timestamp)
        core.header.leadership_term_id = state.leadership_term_id
        failure: Exception | None = None
        try:
            with core.guard.within("on_start"):
                yield from self._load(state)
        except ContainerTermination:
            raise
        except Exception as error:
            failure = error
        yield from core.acknowledge(state.log_position, state.timestamp, core.aeron.client_id if failure is None else NULL_VALUE)
        if failure is not None:
            raise ContainerTermination(
                f"service {core.context.service_id} has failed to start: term {state.leadership_term_id}, log position "
                f"{state.log_position}, snapshots {state.recording_ids}: {describe(failure)}"
            ) from failure
        self.is_service_active = True

    def _load(self, state: RecoveryState) -> Operation:
        if state.has_snapshot:
            yield from self._snapshots.load(state.recording_of(self._core.context.service_id))
        else:
            yield from self._core.calls.start(self._cluster, None, int)

    def join(self, message: JoinLog, events: LogEvents, is_superseded: Callable[[], bool]) -> Operation:
        """Join a log where the service stands, acknowledge, and take the member's role. Raises ClusterServiceError.

        A log that has not come is given up once `is_superseded` returns true, because the service is to join another log. A consensus
        module has its services join one log at a time, so the module that asked for the first one has gone.
        """
        core, aeron = self._core, self._core.aeron
        if message.role != ClusterRole.LEADER:
            self._sessions.disconnect_all()
        events.is_standby = message.is_standby == BooleanType.TRUE
        uri = ChannelUri.parse(message.log_channel)
        uri.parameters["alias"] = f"log-sc-{core.context.service_id}"
        subscription: Subscription = yield aeron.async_add_subscription(str(uri), message.log_stream_id)
        try:
            image = yield from _await_image(subscription, message.log_session_id, is_superseded)
            if image is None:
                subscription.close()
                return
            self._check_contiguous("the image of the log", image.join_position)
            self._check_contiguous("what the consensus module says of the log", message.log_position)
        except BaseException:
            subscription.close()
            raise
        self._log.join(image, message.max_log_position)
        yield from core.acknowledge(message.log_position, self._log.cluster_time)
        core.member_id = core.mark_file.member_id = message.member_id
        if message.role == ClusterRole.LEADER:
            for session in self._sessions.all:
                if core.context.service_responder and message.is_startup != BooleanType.TRUE:
                    yield from self._sessions.connect(session)
                session.mark_closing(is_closing=False)
        self.take_role(ClusterRole(message.role))

    def leave(self) -> None:
        """Leave a log that has come to its end, and follow."""
        image = self._log.leave()
        if image is not None:
            self._log.advance(max(image.position, self._log.log_position), self._log.cluster_time)
            if image.subscription is not None:
                image.subscription.close()
        self._sessions.disconnect_all()
        self.take_role(ClusterRole.FOLLOWER)

    def take_role(self, role: ClusterRole) -> None:
        """Tell the service of the member's role, if it is another one."""
        if role != self._core.role:
            self._core.take_role(role)
            with self._core.guard.within("on_role_change"):
                self._core.calls.on_role_change(role)

    def acknowledge(self, position: int) -> Operation:
        """Acknowledge that the service has come to a position, which the consensus module asked for."""
        if self._log.log_position > position:
            self._core.errors.warn(f"invalid ack request: log position {self._log.log_position} > requested {position}")
        yield from self._core.acknowledge(self._log.log_position, self._log.cluster_time)

    def terminate(self, position: int, *, is_ack_required: bool) -> Operation:
        """End the service at a position: raises ContainerTermination when it has been told, and has acknowledged."""
        core, log = self._core, self._log
        if log.log_position > position:
            core.errors.warn(f"service terminate: log position {log.log_position} > termination position {position}")
        self.end_service()
        if is_ack_required:
            ack = core.acknowledge(log.log_position, log.cluster_time)
            for _ in range(_ACK_ATTEMPTS):
                try:
                    next(ack)
                except StopIteration:
                    break
                except ClusterServiceError as error:
                    core.errors.record(error)
                    break
                yield None
        raise ContainerTermination("the consensus module ends its services", is_expected=log.log_position == position)

    def end_service(self) -> None:
        """Tell the service that it ends, once; what it raises is recorded."""
        if not self.is_service_active:
            return
        self.is_service_active = False
        try:
            with self._core.guard.within("on_terminate"):
                self._core.calls.on_terminate(self._cluster)
        except Exception as error:
            self._core.errors.record(error)

    def _check_contiguous(self, what: str, position: int) -> None:
        if position != self._log.log_position:
            raise ClusterServiceError(
                "the log does not go on where the service stands",
                where=what,
                expected=f"log position {self._log.log_position}",
                actual=f"log position {position}",
            )


def _await_image(subscription: Subscription, session_id: int, is_superseded: Callable[[], bool]) -> Generator[None, None, Image | None]:
    """Return the image of a log, or None where another log is to be joined before it has come."""
    while not is_superseded():
        image = subscription.image_by_session_id(session_id)
        if image is not None:
            return image
        yield
    return None
