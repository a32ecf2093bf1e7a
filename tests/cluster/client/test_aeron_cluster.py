"""A session with scripted members in a simulated world: sending, receiving, new leaders, and the ends of a session."""

from __future__ import annotations

import random
from typing import Any

import pytest

from aerowire.base.errors import ClosedError, ClusterConnectionError, ClusterTimeoutError, ConfigurationError, MessageTooLongError
from aerowire.base.units import INT64_MAX
from aerowire.client import NOT_CONNECTED, Action
from aerowire.cluster import SESSION_HEADER_LENGTH, ClusterState, ExtensionMessage, IngressSessionDecorator
from aerowire.codecs.flyweights.cluster.enums import AdminRequestType, AdminResponseCode
from aerowire.codecs.flyweights.cluster.messages.admin_response import AdminResponse
from aerowire.simulation.world import SimulatedWorld
from tests.cluster.client.setting import MS, SECOND, KeptControlledEgress, Setting, endpoint
from tests.conftest import SEED
from tests.support.scripted.cluster import SESSION_ID, TERM_ID, challenge, closed, message, new_leader

FOREIGN = bytes.fromhex("0400 6300 0900 0200") + b"body"  # block length 4, template 99, schema 9, version 2


@pytest.fixture
def setting(world: SimulatedWorld) -> Setting:
    return Setting(world)


def test_sends_messages_behind_the_session_header(setting: Setting) -> None:
    cluster = setting.connect()
    long = bytes(range(256)) * 20
    assert cluster.offer(b"whole") > 0
    assert cluster.offer(bytearray(b"<part>"), 1, 4) > 0
    assert cluster.offer_parts(b"some ", memoryview(b"parts"), b"") > 0
    assert cluster.offer(long) > 0
    with cluster.try_claim(7) as claim:
        assert (claim.length, len(claim.buffer)) == (7, 7)
        claim.put_bytes(b"aimed", 2)
        claim.buffer[:2] = b"cl"
    setting.world.run(10 * MS)
    member = setting.members[0]
    assert member.messages == [b"whole", b"part", b"some parts", long, b"claimed"]
    assert {(header.cluster_session_id, header.leadership_term_id, header.timestamp) for header in member.headers} == {
        (SESSION_ID, TERM_ID, 0)
    }


def test_sends_as_many_messages_of_a_batch_as_there_is_room_for(setting: Setting) -> None:
    cluster = setting.connect(ingress_channel="aeron:udp?term-length=64k")
    batch = [b"%d" % number * 200 for number in range(1_000)]
    left = batch
    assert cluster.offer_many([]) == 0
    sent = cluster.offer_many(left)
    assert 0 < sent < len(batch)
    while left := left[sent:]:
        setting.world.run(10 * MS)
        sent = cluster.offer_many(left)
        assert sent > 0
    setting.world.run(10 * MS)
    assert setting.members[0].messages == batch
    setting.members[0].stop()
    setting.world.run(SECOND)
    assert cluster.offer_many(batch) == NOT_CONNECTED


def test_lengths_that_do_not_fit_are_refused(setting: Setting) -> None:
    cluster = setting.connect()
    publication = cluster.ingress_publication
    assert publication is not None
    with pytest.raises(ValueError, match="do not fit a buffer of 3 bytes"):
        cluster.offer(b"abc", 2, 2)
    with pytest.raises(MessageTooLongError):
        cluster.offer(bytes(publication.max_message_length - SESSION_HEADER_LENGTH + 1))
    with pytest.raises(MessageTooLongError):
        cluster.try_claim(publication.max_payload_length - SESSION_HEADER_LENGTH + 1)
    with pytest.raises(ValueError, match="length of a claim is out of range"):
        cluster.try_claim(-1)
    assert cluster.offer(bytes(publication.max_message_length - SESSION_HEADER_LENGTH)) > 0
    cluster.try_claim(publication.max_payload_length - SESSION_HEADER_LENGTH).abort()


def test_a_decorator_puts_the_header_before_messages_on_a_publication_of_the_applications_own(setting: Setting) -> None:
    cluster = setting.connect()
    decorator = IngressSessionDecorator()
    assert (decorator.cluster_session_id, decorator.leadership_term_id) == (-1, -1)
    decorator.cluster_session_id, decorator.leadership_term_id = cluster.cluster_session_id, cluster.leadership_term_id
    assert cluster.ingress_publication is not None
    result = decorator.offer(cluster.ingress_publication, b"<decorated>", 1, 9)
    cluster.track_ingress_publication_result(result)
    setting.world.run(10 * MS)
    assert setting.members[0].messages == [b"decorated"]
    (header,) = setting.members[0].headers
    assert (header.cluster_session_id, header.leadership_term_id, header.timestamp) == (SESSION_ID, TERM_ID, -1)


def test_ingress_is_exclusive_unless_told_otherwise(setting: Setting) -> None:
    assert type(setting.connect().ingress_publication).__name__ == "ExclusivePublication"
    assert type(setting.connect(is_ingress_exclusive=False).ingress_publication).__name__ == "Publication"


def test_keep_alives_and_admin_requests_name_session_and_term(setting: Setting) -> None:
    cluster = setting.connect()
    member = setting.members[0]
    member.answers["AdminRequest"] = lambda request: [
        AdminResponse(
            cluster_session_id=SESSION_ID,
            correlation_id=request.correlation_id,
            request_type=AdminRequestType.SNAPSHOT,
            response_code=AdminResponseCode.OK,
            message="done",
            payload=b"x",
        )
    ]
    assert cluster.send_keep_alive()
    assert cluster.send_admin_request_to_take_a_snapshot(77)
    setting.world.run(10 * MS)
    _, keep_alive, admin = member.requests
    assert (keep_alive.cluster_session_id, keep_alive.leadership_term_id) == (SESSION_ID, TERM_ID)
    assert (admin.cluster_session_id, admin.leadership_term_id, admin.correlation_id, admin.request_type) == (
        SESSION_ID,
        TERM_ID,
        77,
        AdminRequestType.SNAPSHOT,
    )
    (response,) = setting.egress.events
    assert (response.correlation_id, response.response_code, response.message, response.payload) == (77, AdminResponseCode.OK, "done", b"x")


def test_receives_messages_of_its_own_session_with_their_time(setting: Setting) -> None:
    setting.connect()
    long = bytes(range(256)) * 20
    setting.members[0].say(message(b"one", 5), message(b"another's", session_id=9), message(long, 6), message(b"", 7))
    setting.world.run(10 * MS)
    assert setting.egress.messages == [b"one", long, b""]
    assert setting.egress.timestamps == [5, 6, 7]


def test_drops_what_is_damaged_or_unknown_and_counts_it(setting: Setting) -> None:
    cluster = setting.connect()
    whole = message(b"")
    setting.members[0].say(b"", b"short", whole[:31], b"\xff\xff" + whole[2:], b"\x08\x00" + whole[2:], whole[:9], FOREIGN)
    setting.members[0].say(message(b"behind"))
    setting.world.run(10 * MS)
    assert setting.egress.messages == [b"behind"]
    assert (cluster.dropped_messages, cluster.state) == (7, ClusterState.CONNECTED)


def test_hostile_messages_are_dropped_or_answered_by_rule(setting: Setting) -> None:
    randomly = random.Random(SEED)
    cluster = setting.connect(new_leader_timeout_ns="60s", message_timeout_ns="60s")
    admin = AdminResponse(
        cluster_session_id=SESSION_ID,
        correlation_id=1,
        request_type=AdminRequestType.SNAPSHOT,
        response_code=AdminResponseCode.OK,
        message="x",
    )
    whole = [message(b"payload"), new_leader(0, setting.endpoints).encode(), admin.encode(), FOREIGN, challenge(admin, b"who?").encode()]
    for _ in range(2_000):
        hostile = bytearray(randomly.choice(whole))
        for _ in range(randomly.randrange(4)):
            hostile[randomly.randrange(len(hostile))] = randomly.choice((0, 1, 0x7F, 0x80, 0xFF, randomly.randrange(256)))
        setting.members[0].say(bytes(hostile[: randomly.randrange(len(hostile) + 1)]))
        setting.world.run(MS)
    setting.members[0].say(new_leader(0, setting.endpoints), message(b"behind"))
    setting.world.run(SECOND)
    assert (cluster.state, setting.egress.messages[-1]) == (ClusterState.CONNECTED, b"behind")
    assert cluster.dropped_messages > 100


def test_a_listener_may_close_the_client(setting: Setting) -> None:
    found: list[bytes] = []

    def on_message(*parts: Any) -> None:
        found.append(bytes(parts[2][parts[3] : parts[3] + parts[4]]))
        cluster.close()

    cluster = setting.connect(egress_listener=on_message)
    setting.members[0].say(message(b"last"), message(b"beyond"))
    setting.world.run(10 * MS)
    assert (found, cluster.state) == ([b"last"], ClusterState.CLOSED)
    assert setting.members[0].names()[-1] == "SessionCloseRequest"


def test_messages_of_other_schemas_go_to_the_extension_listener(setting: Setting) -> None:
    found: list[ExtensionMessage] = []
    cluster = setting.connect(extension_listener=found.append)
    setting.members[0].say(FOREIGN)
    setting.world.run(10 * MS)
    assert found == [ExtensionMessage(schema_id=9, template_id=99, version=2, block_length=4, payload=b"body")]
    assert cluster.dropped_messages == 0


def test_a_controlled_poll_goes_on_as_its_listener_says(setting: Setting) -> None:
    egress = KeptControlledEgress(Action.ABORT, Action.BREAK, Action.COMMIT)
    cluster = setting.client.complete(setting.start(controlled_egress_listener=egress))
    member = setting.members[0]
    member.say(message(b"one"), message(b"two"), message(b"three"), new_leader(0, setting.endpoints))
    setting.world.run(10 * MS)
    cluster.controlled_poll_egress()
    assert egress.messages == [b"one"]
    cluster.controlled_poll_egress()
    assert egress.messages == [b"one", b"one"]
    cluster.controlled_poll_egress()
    assert egress.messages == [b"one", b"one", b"two", b"three"]
    assert [event.leader_member_id for event in egress.events] == [0]
    assert setting.egress.messages == []


def test_a_function_as_listener_gets_the_messages(setting: Setting) -> None:
    found: list[tuple[Any, ...]] = []
    setting.connect(egress_listener=lambda *parts: found.append((*parts[:2], bytes(parts[2][parts[3] : parts[3] + parts[4]]))))
    setting.members[0].say(message(b"heard"), closed("SERVICE_ACTION"))
    setting.world.run(10 * MS)
    assert found == [(SESSION_ID, 1_000, b"heard")]


def test_a_message_without_a_listener_is_an_error(setting: Setting) -> None:
    cluster = setting.client.complete(setting.start(egress_listener=None))
    setting.members[0].say(message(b"unheard"))
    setting.world.run(10 * MS)
    with pytest.raises(ConfigurationError, match="expected the option egress_listener"):
        cluster.poll_egress()


def test_goes_to_the_new_leader_that_the_cluster_tells(world: SimulatedWorld) -> None:
    setting = Setting(world, members=2)
    cluster = setting.connect()
    setting.members[0].stop()
    world.run(200 * MS)
    assert cluster.state is ClusterState.AWAIT_NEW_LEADER
    assert cluster.offer(b"to no one") == NOT_CONNECTED
    assert not cluster.send_keep_alive()
    assert cluster.next_deadline_ns() < INT64_MAX
    follower = setting.members[1]
    follower.reach(setting.members[0].requests[0].response_channel)
    follower.say(new_leader(1, setting.endpoints))
    world.run(SECOND // 2)
    assert (cluster.state, cluster.leader_member_id, cluster.leadership_term_id) == (ClusterState.CONNECTED, 1, TERM_ID + 1)
    assert cluster.next_deadline_ns() == INT64_MAX
    assert cluster.offer(b"to the new one") > 0
    world.run(10 * MS)
    assert follower.messages == [b"to the new one"]
    assert follower.headers[0].leadership_term_id == TERM_ID + 1
    assert [event.leader_member_id for event in setting.egress.events] == [1]


def test_finds_a_new_leader_whose_endpoints_are_of_no_use_among_those_that_it_knows(world: SimulatedWorld) -> None:
    setting = Setting(world, members=2)
    cluster = setting.connect()
    setting.members[0].say(new_leader(1, "nonsense"))
    world.run(SECOND // 2)
    assert cluster.state is ClusterState.CONNECTED


def test_a_new_leader_with_an_endpoint_that_is_none_ends_the_client_with_the_reason(setting: Setting) -> None:
    cluster = setting.connect(message_timeout_ns="1s")
    setting.members[0].say(new_leader(0, "0=no-port"))
    setting.world.run(2 * SECOND)
    assert cluster.is_closed
    assert "waiting for a connection to the new leader; the last error was: " in str(cluster.close_reason)


def test_a_cluster_without_a_leader_for_too_long_ends_the_client_with_the_reason(setting: Setting) -> None:
    cluster = setting.connect()
    setting.members[0].stop()
    setting.world.run(SECOND)
    assert cluster.state is ClusterState.AWAIT_NEW_LEADER
    setting.world.run(SECOND + 200 * MS)  # twice the heartbeat timeout that the member told
    assert cluster.is_closed
    assert isinstance(cluster.close_reason, ClusterTimeoutError)
    assert "expected a leader within 2 s; got still waiting for the cluster to tell its new leader" in str(cluster.close_reason)
    with pytest.raises(ClosedError, match="the client of the cluster is closed"):
        cluster.offer(b"late")
    assert (cluster.poll_egress(), cluster.controlled_poll_egress(), cluster.poll_state_changes()) == (0, 0, 0)


def test_a_new_leader_that_does_not_listen_ends_the_client_with_the_reason(setting: Setting) -> None:
    cluster = setting.connect(message_timeout_ns="1s")
    setting.members[0].say(new_leader(1, f"1={endpoint(1)}"))
    setting.world.run(SECOND + 100 * MS)
    assert cluster.is_closed
    assert "expected a leader within 1 s; got still waiting for a connection to the new leader" in str(cluster.close_reason)


def test_a_session_that_the_cluster_closes_ends_the_client_with_the_reason(setting: Setting) -> None:
    cluster = setting.connect()
    setting.members[0].say(closed("TIMEOUT", session_id=1))
    setting.world.run(10 * MS)
    assert not cluster.is_closed
    setting.members[0].say(closed("TIMEOUT"))
    setting.world.run(10 * MS)
    assert cluster.is_closed
    assert isinstance(cluster.close_reason, ClusterConnectionError)
    assert cluster.close_reason.what == "the cluster has closed the session: TIMEOUT"
    assert setting.members[0].names() == ["SessionConnectRequest"], "a session that is closed is not closed again"


def test_a_session_whose_end_is_not_told_ends_though_the_member_still_listens(setting: Setting) -> None:
    cluster = setting.connect(new_leader_timeout_ns="1s")
    setting.members[0].end_egress()
    setting.world.run(200 * MS)
    assert cluster.state is ClusterState.AWAIT_NEW_LEADER
    setting.world.run(SECOND)
    assert cluster.is_closed
    assert not setting.members[0].subscription.is_closed


def test_close_tells_the_cluster_once_and_leaves_nothing_open(setting: Setting) -> None:
    with setting.connect() as cluster:
        cluster.offer(b"last")
    cluster.close()
    setting.world.run(20 * SECOND)
    member = setting.members[0]
    assert member.messages == [b"last"]
    assert member.names() == ["SessionConnectRequest", "SessionCloseRequest"]
    assert (member.requests[1].cluster_session_id, member.requests[1].leadership_term_id) == (SESSION_ID, TERM_ID)
    assert not member.subscription.images
    assert (cluster.state, cluster.close_reason) == (ClusterState.CLOSED, None)
    assert not setting.client.aeron.is_closed


def test_closes_without_waiting_too(setting: Setting) -> None:
    cluster = setting.connect()
    closing = cluster.async_close()
    assert cluster.is_closed
    assert closing.poll()
    assert cluster.async_close() is closing
