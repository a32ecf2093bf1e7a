"""A member's sessions through a random life: clients of all kinds, elections, a log and an egress without room, results that come late."""

from __future__ import annotations

from random import Random

from aerowire.cluster.sessions import inputs
from aerowire.cluster.sessions.authorisation import ALLOW_BACKUP_AND_STANDBY
from aerowire.cluster.sessions.cluster_session import SessionAction, SessionState
from aerowire.cluster.sessions.effects import ChangeState, CloseResponse, Effect, OpenResponse, Send
from aerowire.cluster.sessions.inputs import IngressImage
from aerowire.cluster.sessions.pending_sessions import BACKUP_SESSIONS_MAX
from aerowire.cluster.sessions.refusals import REFUSALS_MAX
from aerowire.cluster.sessions.session_manager import SessionManager
from aerowire.cluster.sessions.session_options import PROTOCOL_VERSION, SessionOptions
from aerowire.codecs.flyweights.cluster.enums import AdminRequestType, EventCode
from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent
from aerowire.security.authentication import Authenticator, ChallengeAuthenticator, SimpleAuthenticator
from aerowire.security.authorisation import ALLOW_ALL, AuthorisationService
from tests.cluster.sessions.abstract_agent import AbstractAgent, require

MILLISECOND_NS = 1_000_000
CLIENTS = 12
STEPS = 600
ANSWERS = {EventCode.OK, EventCode.ERROR, EventCode.REDIRECT, EventCode.AUTHENTICATION_REJECTED}
# Why a session may end without an answer.
SILENT_ENDS = {"session timed out", "invalid session", "invalid", "election", "closed", "done", "Cluster node terminated"}


class Answers:
    """What each response publication was asked for, and what its client was told."""

    def __init__(self) -> None:
        self.answered: dict[int, int] = {}
        self._is_unanswered_closed = False

    def on_effect(self, effect: Effect) -> None:
        """Look at the state that follows when a publication is closed without an answer: the session's, if it ends."""
        if isinstance(effect, OpenResponse):
            self.answered[effect.key] = 0
        elif isinstance(effect, ChangeState) and effect.new is SessionState.CLOSED and self._is_unanswered_closed:
            require(effect.reason in SILENT_ENDS, "a session ends without an answer only if its client is gone, or an election begins")
        self._is_unanswered_closed = isinstance(effect, CloseResponse) and not self.answered[effect.key]

    def on_sent(self, effect: Send) -> None:
        """Count an answer that has really been sent."""
        if isinstance(effect.message, SessionEvent) and effect.message.code in ANSWERS:
            self.answered[effect.key] += 1
            require(self.answered[effect.key] == 1, "a request to connect is answered once")


class RandomLife:
    """One life, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.answers = Answers()
        self.max_sessions = random.randrange(1, 5)
        options = SessionOptions(
            member_id=0,
            ingress_endpoints="0=a:1",
            max_sessions=self.max_sessions,
            session_timeout_ns=1_000 * MILLISECOND_NS,
            accept_standby_snapshots=random.random() < 0.5,
        )
        authorisation: AuthorisationService = ALLOW_ALL if random.random() < 0.5 else ALLOW_BACKUP_AND_STANDBY
        manager = SessionManager(options, self._authenticator(), authorisation)
        self.agent = AbstractAgent(manager, self.max_sessions, self.answers.on_effect, self.answers.on_sent)
        self.trace: list[str] = []
        self._commit_position = 0
        self._term = 0
        self._is_leader = False
        self._correlation_id = 0
        self.agent.give(inputs.ActivityChanged(True))

    def run(self) -> None:
        """Live, then let everything come to rest, and end."""
        actions = [
            *[self._connect] * 6,
            *[self._tick] * 8,
            *[self._come_or_go] * 6,
            *[self._commit] * 3,
            *[self._message] * 5,
            *[self._answer_challenge] * 3,
            self._backup,
            self._refuse,
            self._lose_image,
            self._change_room,
            self._change_room,
            self._hold_results,
            self._elect,
        ]
        self._elect()
        for _ in range(STEPS):
            action = self.random.choice(actions)
            self.trace.append(action.__name__)
            action()
            count = self.agent.manager.session_count
            require(count <= 2 * self.max_sessions + REFUSALS_MAX + BACKUP_SESSIONS_MAX, "sessions of all kinds are bounded")
        self._rest()
        self.agent.close()

    def _authenticator(self) -> Authenticator:
        challenging = ChallengeAuthenticator(lambda *_: b"?", lambda _, response: response if response == b"right" else None)
        return self.random.choice([Authenticator(), SimpleAuthenticator({b"user": b"right"}), challenging])

    def _request(self) -> dict[str, object]:
        client = self.random.randrange(CLIENTS)
        if self.random.random() < 0.9:
            self._correlation_id += 1
        return {
            "correlation_id": self._correlation_id,
            "response_stream_id": 102,
            "response_channel": f"aeron:udp?endpoint={client}",
            "image": IngressImage(client, f"{client}:1", client),
            "version": PROTOCOL_VERSION if self.random.random() < 0.95 else 1 << 16,
            "encoded_credentials": self.random.choice([b"right", b"wrong"]),
        }

    def _connect(self) -> None:
        self.agent.give(inputs.Connect(**self._request()))  # type: ignore[arg-type]

    def _backup(self) -> None:
        self.agent.give(inputs.BackupRequest(action=self.random.choice(list(SessionAction)[1:]), **self._request()))  # type: ignore[arg-type]

    def _tick(self) -> None:
        self.agent.now_ns += self.random.choice([1, 10, 10, 10, 300]) * MILLISECOND_NS
        self.agent.tick()

    def _come_or_go(self) -> None:
        self.agent.connect_client(f"aeron:udp?endpoint={self.random.randrange(CLIENTS)}", is_there=self.random.random() < 0.7)

    def _some_session(self) -> int:
        return self.random.choice([*self.agent.manager.open_session_ids, self.random.randrange(20)])

    def _message(self) -> None:
        session_id, term = self._some_session(), self.random.choice([self._term, self._term, self._term - 1])
        messages: list[inputs.Input] = [
            inputs.Close(term, session_id),
            inputs.KeepAlive(term, session_id, self.random.randrange(CLIENTS)),
            inputs.AdminRequested(term, session_id, 5, AdminRequestType.SNAPSHOT),
            inputs.SessionActive(session_id, self.agent.now_ns),
            inputs.ServiceClosed(session_id),
        ]
        self.agent.give(self.random.choice(messages))

    def _answer_challenge(self) -> None:
        session_id = self.random.randrange(-20, 60)
        self._correlation_id += 1
        answer = self.random.choice([b"right", b"wrong"])
        answers: list[inputs.Input] = [
            inputs.ChallengeResponse(self._correlation_id, session_id, answer),
            inputs.BackupChallengeResponse(self._correlation_id, session_id, answer),
        ]
        self.agent.give(self.random.choice(answers))

    def _refuse(self) -> None:
        """Refuse a publication that was just asked for; not that of an open session, which would never hear anything."""
        pending = self.agent.refusable_keys()
        if pending:
            self.agent.give(inputs.ResponseFailed(self.random.choice(pending), "refused"))

    def _lose_image(self) -> None:
        self.agent.give(inputs.ImageUnavailable(self.random.randrange(CLIENTS)))

    def _change_room(self) -> None:
        self.agent.has_log_room = self.random.random() < 0.7
        self.agent.has_egress_room = self.random.random() < 0.7
        if self.random.random() < 0.6:
            self.agent.add_responses()
        else:
            self.agent.is_driver_answering = False
        self.agent.give(inputs.ActivityChanged(self.random.random() < 0.8))

    def _hold_results(self) -> None:
        if self.random.random() < 0.5:
            self.agent.are_results_held = True
        else:
            self.agent.release()

    def _commit(self) -> None:
        if self._is_leader:
            self._commit_position = self.random.randrange(self._commit_position, self.agent.log_position + 1)
            self.agent.give(inputs.Committed(self._commit_position))

    def _elect(self) -> None:
        """End a term: the log keeps what is committed, and perhaps more. Then lead, or follow a leader that opens and closes sessions."""
        self._commit_position = self.random.randrange(self._commit_position, self.agent.log_position + 1)
        self.agent.end_term(self._commit_position)
        self._term += 1
        self._is_leader = self.random.random() < 0.6
        if self._is_leader:
            self.agent.give(inputs.LeadershipBegun(self._term, self.random.random() < 0.1))
            return
        self.agent.give(inputs.FollowingBegun(self._term, 1))
        for _ in range(self.random.randrange(5)):
            self._replay()
        self._commit_position = self.agent.log_position

    def _replay(self) -> None:
        agent = self.agent
        known = [record.session_id for record in agent.manager.records()]
        if known and (self.random.random() < 0.5 or len(known) >= self.max_sessions):
            agent.replay(closed=self.random.choice(known))
        else:
            agent.replay(opened=agent.next_free_id(), channel=f"aeron:udp?endpoint={self.random.randrange(CLIENTS)}")

    def _rest(self) -> None:
        """Let all clients come, give everything room: then each pending request is decided, and only open sessions are left."""
        agent = self.agent
        agent.has_log_room = agent.has_egress_room = True
        agent.release()
        agent.add_responses()
        agent.give(inputs.ActivityChanged(True))
        self._commit_position = agent.log_position
        agent.give(inputs.Committed(agent.log_position))
        if not self._is_leader:
            agent.end_term(agent.log_position)
            agent.give(inputs.LeadershipBegun(self._term + 1, False))
        for client in range(CLIENTS):
            agent.connect_client(f"aeron:udp?endpoint={client}", is_there=True)
        self._cycles(3)
        states = {session.state for session in agent.manager._pending.clients}
        require(SessionState.AUTHENTICATED not in states, "a client that is accepted has its session soon")
        self._cycles(100)
        open_ids = agent.manager.open_session_ids
        require(agent.manager.session_count == len(open_ids), "whatever waits is decided, or given up, in time")
        require(len(agent.responses) == len(open_ids), "only open sessions have response publications")
        require(all(agent.heard_open(session_id) for session_id in open_ids), "clients of open sessions know that")
        agent.give(inputs.Committed(agent.log_position))
        require(agent.sessions_of_log() == sorted(open_ids), "sessions are open that the log has opened and not closed")
        last_id = max([0, *open_ids])
        require(agent.manager.next_committed_session_id > last_id, "the next id is behind those of the log")

    def _cycles(self, count: int) -> None:
        """Run cycles in which no open session is silent."""
        for _ in range(count):
            self.agent.now_ns += 10 * MILLISECOND_NS
            for session_id in self.agent.manager.open_session_ids:
                self.agent.give(inputs.SessionActive(session_id, self.agent.now_ns))
            self.agent.tick()
