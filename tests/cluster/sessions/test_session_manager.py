"""What an agent asks of its sessions beside conversations: snapshots, principals, times in which nobody was listened to."""

from __future__ import annotations

from aerowire.cluster.sessions import inputs
from aerowire.cluster.sessions.effects import AppendSessionClose, Effect, Send
from aerowire.cluster.sessions.inputs import IngressImage
from aerowire.cluster.sessions.session_manager import SessionManager
from aerowire.cluster.sessions.session_options import SessionOptions
from aerowire.cluster.snapshots.consensus_module_snapshot import (
    ClusterSessionRecord,
    ConsensusModuleRecord,
    ConsensusModuleSnapshotLoader,
    ConsensusModuleState,
    encode_consensus_module_snapshot,
)
from aerowire.cluster.snapshots.markers import SnapshotDetails
from aerowire.codecs.flyweights.cluster.enums import AdminRequestType, AdminResponseCode, CloseReason, EventCode
from aerowire.codecs.flyweights.cluster.messages.admin_request import AdminRequestDecoder
from aerowire.codecs.flyweights.cluster.messages.admin_response import AdminResponse
from aerowire.codecs.flyweights.cluster.messages.challenge import Challenge
from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent
from aerowire.security.authentication import Authenticator, SessionProxy, SimpleAuthenticator
from aerowire.security.authorisation import AuthorisationRule, SimpleAuthorisationService
from tests.cluster.sessions.abstract_agent import AbstractAgent

SECOND_NS = 1_000_000_000
CHANNEL = "aeron:udp?endpoint=alice"
ADMINISTRATOR = SimpleAuthorisationService(
    [
        AuthorisationRule(
            protocol_id=AdminRequestDecoder.SBE_SCHEMA_ID,
            action_id=AdminRequestDecoder.SBE_TEMPLATE_ID,
            principal=b"admin",
            is_allowed=True,
        )
    ]
)


def agent(effects: list[Effect] | None = None) -> AbstractAgent:
    seen: list[Effect] = [] if effects is None else effects
    manager = SessionManager(
        SessionOptions(member_id=0, session_timeout_ns=SECOND_NS), SimpleAuthenticator({b"admin": b"secret"}), ADMINISTRATOR
    )
    made = AbstractAgent(manager, 10, seen.append)
    made.clients.add(CHANNEL)
    made.give(inputs.ActivityChanged(True))
    return made


def connect(given: AbstractAgent, correlation_id: int) -> None:
    given.give(
        inputs.Connect(
            correlation_id=correlation_id,
            response_stream_id=102,
            response_channel=CHANNEL,
            image=IngressImage(correlation_id, "a:1", 5),
            encoded_credentials=b"secret",
        )
    )


def test_sessions_go_through_a_snapshot() -> None:
    leader = agent()
    leader.give(inputs.LeadershipBegun(3, False))
    for correlation_id in (71, 72):
        connect(leader, correlation_id)
    leader.has_log_room = False
    leader.give(inputs.ServiceClosed(2))
    leader.give(inputs.Committed(128))
    numbers = ConsensusModuleRecord(next_session_id=leader.manager.next_committed_session_id)
    state = ConsensusModuleState(numbers=numbers, sessions=leader.manager.records())
    loader = ConsensusModuleSnapshotLoader("here", 0)
    for message in list(encode_consensus_module_snapshot(SnapshotDetails(type_id=1, log_position=128, leadership_term_id=3), state))[1:-1]:
        loader.on_record(int.from_bytes(message[2:4], "little"), message)
    loaded = loader.state()
    follower = agent()
    follower.load(loaded.numbers.next_session_id, list(loaded.sessions))
    assert follower.manager.records() == leader.manager.records() == state.sessions
    assert [(each.session_id, each.opened_log_position, each.close_reason) for each in state.sessions] == [
        (1, 64, CloseReason.NULL_VALUE),
        (2, 128, CloseReason.SERVICE_ACTION),
    ]
    assert follower.manager.next_committed_session_id == 3
    assert follower.manager.open_session_ids == (1,)


def test_a_snapshot_whose_next_id_is_too_low_is_made_up_for_by_its_sessions() -> None:
    member = agent()
    record = ClusterSessionRecord(session_id=9, correlation_id=1, opened_log_position=64, response_stream_id=102, response_channel=CHANNEL)
    member.load(4, [record])
    assert member.manager.next_committed_session_id == 10


def test_the_principal_of_a_client_is_known_while_its_session_is_open() -> None:
    member = agent()
    member.give(inputs.LeadershipBegun(3, False))
    connect(member, 71)
    assert member.manager.principal_of(1) == b"admin"
    member.give(inputs.Close(3, 1))
    assert member.manager.principal_of(1) is None


def test_a_new_leader_permits_what_the_principal_in_the_log_may_do() -> None:
    effects: list[Effect] = []
    member = agent(effects)
    member.give(inputs.FollowingBegun(3, 1))
    member.give(inputs.OpenReplayed(64, 71, 5, 102, CHANNEL, b"admin"))
    member.give(inputs.OpenReplayed(128, 72, 6, 102, CHANNEL, b"other"))
    member.end_term(128)
    member.give(inputs.LeadershipBegun(4, False))
    for session_id in (5, 6):
        member.give(inputs.AdminRequested(4, session_id, 80 + session_id, AdminRequestType.SNAPSHOT))
    answers = [effect.message for effect in effects if isinstance(effect, Send) and isinstance(effect.message, AdminResponse)]
    assert [answer.response_code for answer in answers] == [AdminResponseCode.OK, AdminResponseCode.UNAUTHORISED_ACCESS]


class FickleAuthenticator(Authenticator):
    """Challenges a client again and again, and fails at its answer."""

    def on_connected_session(self, session: SessionProxy, _now_ms: int, /) -> None:
        session.challenge(b"who are you")

    on_challenged_session = on_connected_session

    def on_challenge_response(self, session_id: int, _encoded_credentials: bytes, _now_ms: int, /) -> None:
        raise RuntimeError(session_id)


def test_a_client_that_is_refused_while_a_challenge_is_on_its_way_is_told() -> None:
    member = AbstractAgent(SessionManager(SessionOptions(member_id=0), FickleAuthenticator(), ADMINISTRATOR), 10)
    member.clients.add(CHANNEL)
    member.give(inputs.ActivityChanged(True))
    member.give(inputs.LeadershipBegun(3, False))
    connect(member, 71)
    member.are_results_held = True
    member.tick()
    member.give(inputs.ChallengeResponse(72, 1, b"alice"))
    member.release()
    heard = member.heard[CHANNEL]
    assert [type(message) for message in heard] == [Challenge, Challenge, SessionEvent]
    assert isinstance(heard[-1], SessionEvent)
    assert (heard[-1].code, heard[-1].correlation_id) == (EventCode.AUTHENTICATION_REJECTED, 72)
    assert member.manager.session_count == 0


def test_clients_do_not_time_out_for_a_time_in_which_the_member_did_not_listen() -> None:
    effects: list[Effect] = []
    member = agent(effects)
    member.give(inputs.LeadershipBegun(3, False))
    connect(member, 71)
    member.give(inputs.ActivityChanged(False))
    member.now_ns += 5 * SECOND_NS
    member.tick()
    member.manager.update_time_of_last_activity(member.now_ns)
    member.give(inputs.ActivityChanged(True))
    member.tick()
    assert member.manager.open_session_ids == (1,)
    assert member.manager.next_deadline_ns() == member.now_ns + SECOND_NS + 1
    member.now_ns += SECOND_NS + 1
    member.tick()
    assert [effect.close_reason for effect in effects if isinstance(effect, AppendSessionClose)] == [CloseReason.TIMEOUT]
