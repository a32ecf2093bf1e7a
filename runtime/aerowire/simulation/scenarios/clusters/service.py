"""The replicated service: a register that reports each event it applies to the history."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from aerowire.cluster.services.client_session import ClientSession
from aerowire.cluster.services.cluster import Cluster
from aerowire.cluster.services.clustered_service import ClusteredService, LeadershipTerm
from aerowire.codecs.flyweights.cluster.enums import CloseReason
from aerowire.simulation.scenarios.clusters.history import Event, History
from aerowire.simulation.scenarios.clusters.register import Register
from aerowire.simulation.scenarios.clusters.requests import Operation, Request
from aerowire.simulation.scenarios.violation import ViolationError

_ATTEMPTS = range(3)
# The id of a timer or a message has the service in its highest part, then the client, then the number of the request.
_CLIENT, _SERVICE = 1 << 32, 1 << 56


def key_of(service_id: int, client: int, number: int) -> int:
    """Return the id of the timer, or the message, by which a service carries out the request of a client."""
    return service_id * _SERVICE + client * _CLIENT + number


class RegisterService(ClusteredService):
    """One service in one life of its container. `position` is how far it has applied the log.

    It `is_stuck` when a message or timer could not be sent to the consensus module in time: then its process has to end.
    """

    def __init__(
        self,
        service_id: int,
        history: History,
        who: str,
        check: Callable[[int], object],
        report: Callable[[ViolationError], object],
    ) -> None:
        """`check` is called with the position of each event, `report` with each violation."""
        self.position = 0
        self.is_stuck = False
        self._service_id = service_id
        self._history = history
        self._who = who
        self._check = check
        self._report = report
        self._register = Register()
        self._cluster: Cluster | None = None

    def snapshot_state(self) -> object:
        """Return the state, with the position up to which the log is applied."""
        if self.is_stuck:
            raise RuntimeError("what could not be sent would be lost")
        return [self.position, self._register.snapshot()]

    def restore_state(self, state: list[object]) -> None:
        """Take the state of a snapshot."""
        position, register = state
        assert isinstance(position, int)
        assert isinstance(register, list)
        self._register.restore(register)
        self.position = position
        self._attempt(lambda: self._history.load(position, self._register.digest(), self._who))

    def on_start(self, cluster: Cluster, _snapshot_image: object) -> None:
        """Begin, with the sessions of the snapshot."""
        self._cluster = cluster
        self._attempt(lambda: self._history.load_sessions(self.position, [session.id for session in cluster.client_sessions], self._who))

    def on_session_open(self, session: ClientSession, at: int) -> None:
        """Report the event."""
        self._applied(Event("open", session.id, at, session.response_channel.encode()))

    def on_session_close(self, session: ClientSession, at: int, reason: CloseReason) -> None:
        """Report the event."""
        self._applied(Event("close", session.id, at, reason.name.encode()))

    def on_new_leadership_term_event(self, term: LeadershipTerm) -> None:
        """Report the event."""
        self._applied(Event("term", term.leader_member_id, term.timestamp, b"%d" % term.leadership_term_id))

    def on_timer_event(self, correlation_id: int, at: int) -> None:
        """Append the value of the request that has scheduled it."""
        self._come_back("timer", correlation_id, at)

    def on_session_message(self, session: ClientSession | None, message: bytes, at: int) -> None:
        """Execute a request, or append the value of one whose message comes back."""
        if session is None:
            self._come_back("service message", int.from_bytes(message, "little"), at)
            return
        cluster = self._cluster
        assert cluster is not None
        request = Request.decode(message)
        answer, is_first = self._register.request(request, cluster.log_position)
        if is_first and request.operation is Operation.RELAY:
            self._insist(cluster.offer(self._id_of(request).to_bytes(8, "little")) > 0 for _ in _ATTEMPTS)
        elif is_first and request.is_timed:
            self._insist(cluster.schedule_timer(self._id_of(request), at + request.delay_ms) for _ in _ATTEMPTS)
        self._applied(Event("message", session.id, at, message))
        if self._service_id == 0:
            session.offer(answer.encode())

    def _come_back(self, kind: str, correlation_id: int, at: int) -> None:
        service_id, ours = divmod(correlation_id, _SERVICE)
        if service_id == self._service_id:
            self._register.come_back(*divmod(ours, _CLIENT))
            self._applied(Event(kind, -1, at, ours.to_bytes(8, "little")))

    def _id_of(self, request: Request) -> int:
        return key_of(self._service_id, request.client, request.number)

    def _insist(self, attempts: Iterable[bool]) -> None:
        self.is_stuck = self.is_stuck or not any(attempts)

    def _applied(self, event: Event) -> None:
        assert self._cluster is not None
        before, self.position = self.position, self._cluster.log_position
        self._attempt(lambda: self._check(self.position))
        self._attempt(lambda: self._history.apply(before, self.position, event, self._register.digest(), self._who))

    def _attempt(self, check: Callable[[], object]) -> None:
        """Check a rule, and report a violation, which the container would only log."""
        try:
            check()
        except ViolationError as violation:
            self._report(violation)
