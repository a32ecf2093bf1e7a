"""Ingress of clients: what a leader appends, what it drops, and what its conductor gets, in which order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from aerowire.cluster.agents.drop_counts import DropReason
from aerowire.cluster.agents.events import ImageReturned, IngressClosed, IngressMessage, MessageAppended, SessionRemoved
from aerowire.cluster.agents.outbound_message import OutboundMessage
from aerowire.cluster.agents.session_table import OpenSession
from aerowire.codecs.flyweights.cluster import (
    AdminRequest,
    AdminRequestType,
    ChallengeResponse,
    ClusterTimeUnit,
    SessionCloseRequest,
    SessionConnectRequest,
    SessionKeepAlive,
)
from tests.cluster.agents.log_host import EPOCH_MS, HEADER, INGRESS_STREAM, OPEN, TERM, LogHost, session_message

CONNECT = SessionConnectRequest(
    correlation_id=3, response_stream_id=102, version=768, response_channel="aeron:ipc", encoded_credentials=b"", client_info=""
).encode()
CLOSE = SessionCloseRequest(leadership_term_id=TERM, cluster_session_id=7).encode()
CHALLENGE = ChallengeResponse(correlation_id=3, cluster_session_id=7, encoded_credentials=b"secret").encode()
ADMIN = AdminRequest(
    leadership_term_id=TERM, cluster_session_id=7, correlation_id=4, request_type=AdminRequestType.SNAPSHOT, payload=b""
).encode()
FOREIGN = bytes([8, 0, 3, 0, 0x39, 0x30, 1, 0]) + b"extended"
KEEP_ALIVE = SessionKeepAlive(leadership_term_id=TERM, cluster_session_id=7).encode()


@pytest.mark.parametrize(
    ("time_unit", "timestamp"),
    [
        (ClusterTimeUnit.MILLIS, EPOCH_MS),
        (ClusterTimeUnit.MICROS, EPOCH_MS * 1_000),
        (ClusterTimeUnit.NANOS, EPOCH_MS * 1_000_000 + 500),
    ],
    ids=["ms", "us", "ns"],
)
def test_a_message_of_an_open_session_is_appended_with_the_leaders_header(
    hosts: Callable[..., LogHost], time_unit: ClusterTimeUnit, timestamp: int
) -> None:
    host = hosts(time_unit=time_unit)
    host.lead()
    client, session = host.publication(INGRESS_STREAM), host.open_session(7)
    host.at(10_500)
    host.offer(client, session_message(7, b"hello", timestamp=99))
    assert host.logged() == [session_message(7, b"hello", timestamp=timestamp)]
    assert session.time_of_last_activity_ns == 10_500
    assert host.agent.published_position == host.log.position
    assert host.agent.ingress_drops.total == 0


def test_a_message_of_many_fragments_is_appended_whole(host: LogHost) -> None:
    host.lead()
    client = host.publication(INGRESS_STREAM)
    host.open_session(7)
    payloads = [bytes([number]) * length for number, length in enumerate((0, 1, 1_343, 1_344, 1_345, 8_000, 5_000))]
    for payload in payloads:
        host.offer(client, session_message(7, payload))
    assert [message[HEADER:] for message in host.logged()] == payloads


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (session_message(7, b"", leadership_term_id=TERM - 1), DropReason.WRONG_TERM),
        (session_message(7, b"", leadership_term_id=TERM + 1), DropReason.WRONG_TERM),
        (session_message(8, b""), DropReason.UNKNOWN_SESSION),
        (session_message(-1, b""), DropReason.UNKNOWN_SESSION),
        (session_message(7, b"")[:31], DropReason.MALFORMED),
        (KEEP_ALIVE[:23], DropReason.MALFORMED),
        (KEEP_ALIVE.replace(b"\x07", b"\x08"), DropReason.UNKNOWN_SESSION),
        (b"\x18\x00\x01\x00\x6f", DropReason.MALFORMED),
        (b"", DropReason.MALFORMED),
        (b"\x18\x00\x09\x00\x6f\x00\x11\x00" + bytes(24), DropReason.UNKNOWN_TEMPLATE),
    ],
    ids=[
        "term before",
        "term behind",
        "session",
        "negative session",
        "cut",
        "cut keep-alive",
        "keep-alive",
        "cut header",
        "empty",
        "template",
    ],
)
def test_ingress_that_no_open_session_of_the_term_may_send_is_dropped_and_counted(
    host: LogHost, message: bytes, reason: DropReason
) -> None:
    host.lead()
    client, session = host.publication(INGRESS_STREAM), host.open_session(7)
    host.offer(client, message)
    host.offer(client, session_message(7, b"behind"))
    assert [logged[HEADER:] for logged in host.logged()] == [b"behind"]
    assert host.agent.ingress_drops[reason] == host.agent.ingress_drops.total == 1
    assert session.ingress_image_id == -1


def test_a_member_that_leads_no_term_drops_messages_of_sessions(host: LogHost) -> None:
    client, session = host.publication(INGRESS_STREAM), host.open_session(7)
    host.follow()
    host.proxy.open_ingress(is_open=True)
    host.offer(client, session_message(7, b"x"))
    host.offer(client, KEEP_ALIVE)
    host.offer(client, CONNECT)
    assert [event.message for event in host.took(IngressMessage)] == [CONNECT]
    assert host.agent.ingress_drops[DropReason.NOT_LEADER] == 2
    assert session.time_of_last_activity_ns == 0


def test_a_keep_alive_refreshes_the_session_and_links_its_first_image(host: LogHost) -> None:
    host.lead()
    session = host.open_session(7)
    first, second = (host.publication(INGRESS_STREAM) for _ in range(2))
    images = {image.session_id: image.correlation_id for image in host.subscriptions[INGRESS_STREAM].images}
    host.at(10_300)
    host.offer(first, KEEP_ALIVE)
    host.settle()
    assert (session.time_of_last_activity_ns, session.ingress_image_id) == (10_300, images[first.session_id])
    host.at(10_600)
    host.offer(second, KEEP_ALIVE)
    host.settle()
    assert (session.time_of_last_activity_ns, session.ingress_image_id) == (10_600, images[first.session_id])
    assert host.logged() == []


@pytest.mark.parametrize("message", [CONNECT, CLOSE, CHALLENGE, ADMIN, FOREIGN], ids=["connect", "close", "challenge", "admin", "foreign"])
def test_an_image_is_not_read_on_before_the_conductor_has_taken_its_message(host: LogHost, message: bytes) -> None:
    host.lead()
    host.open_session(7)
    client, other = (host.publication(INGRESS_STREAM) for _ in range(2))
    host.offer(client, session_message(7, b"before"))
    position = host.offer(client, message)
    host.offer(client, session_message(7, b"behind"))
    host.offer(client, message)
    assert [logged[HEADER:] for logged in host.logged()] == [b"before"]
    host.offer(other, session_message(7, b"other"))
    assert [logged[HEADER:] for logged in host.logged()] == [b"other"]
    [event] = host.took(IngressMessage)
    assert (event.message, event.position) == (message, position)
    [image] = [image for image in host.subscriptions[INGRESS_STREAM].images if image.session_id == client.session_id]
    assert event.image.loan.session_id == client.session_id
    assert (event.image.image_id, event.image.source_identity) == (image.correlation_id, image.source_identity)
    host.proxy.resume_image(event.image)
    assert [logged[HEADER:] for logged in host.logged()] == [b"behind"]
    assert [event.message for event in host.took(IngressMessage)] == [message]
    assert host.events.message_bytes == 0


def test_a_session_appends_until_it_is_removed(host: LogHost) -> None:
    host.lead()
    client, session = host.publication(INGRESS_STREAM), host.open_session(7)
    same_id = host.open_session(7)
    assert host.took(SessionRemoved) == [SessionRemoved(same_id)]
    host.proxy.add_session(session)
    host.offer(client, session_message(7, b"1"))
    assert len(host.logged()) == 1
    assert host.took(SessionRemoved) == []
    host.proxy.remove_session(same_id)
    host.proxy.remove_session(session)
    assert host.took(SessionRemoved) == [SessionRemoved(session)]
    host.offer(client, session_message(7, b"2"))
    assert host.logged() == []
    host.proxy.remove_session(OpenSession(9, 0))
    assert host.took(SessionRemoved) == []
    assert host.events.held_count == 2, "the term and the image"


def test_messages_of_a_session_wait_for_the_command_that_adds_it(host: LogHost) -> None:
    host.lead()
    client = host.publication(INGRESS_STREAM)
    for number in range(40):  # more than the agent takes in a cycle
        host.proxy.remove_session(OpenSession(100 + number, 0))
    session = OpenSession(7, 0)
    host.proxy.add_session(session)
    host.offer(client, KEEP_ALIVE)
    host.offer(client, session_message(7, b"early"))
    assert [logged[HEADER:] for logged in host.logged()] == [b"early"]
    assert host.agent.ingress_drops.total == 0
    assert session.time_of_last_activity_ns == 10_000


def test_messages_of_an_expected_session_wait_until_the_log_has_its_open_event(host: LogHost) -> None:
    host.lead()
    client, other = host.publication(INGRESS_STREAM), host.publication(INGRESS_STREAM)
    host.open_session(8)
    session = OpenSession(7, 0, is_open=False)
    host.proxy.add_session(session)
    host.offer(client, KEEP_ALIVE)
    host.offer(client, session_message(7, b"early"))
    host.offer(other, session_message(8, b"of another one"))
    assert [logged[HEADER:] for logged in host.logged()] == [b"of another one"]
    assert session.time_of_last_activity_ns == 0
    opened = OutboundMessage(OPEN.encode(), session)
    host.proxy.append(opened)
    assert [appended.message for appended in host.took(MessageAppended)] == [opened]
    assert host.logged() == [bytes(opened), session_message(7, b"early", timestamp=EPOCH_MS)]
    assert session.time_of_last_activity_ns > 0
    assert host.agent.ingress_drops.total == 0


def test_messages_of_an_expected_session_are_dropped_once_it_is_removed(host: LogHost) -> None:
    host.lead()
    client = host.publication(INGRESS_STREAM)
    session = OpenSession(7, 0, is_open=False)
    host.proxy.add_session(session)
    host.offer(client, session_message(7, b"never"))
    assert host.agent.ingress_drops.total == 0
    host.proxy.remove_session(session)
    assert host.took(SessionRemoved) == [SessionRemoved(session)]
    assert host.logged() == []
    assert host.agent.ingress_drops[DropReason.UNKNOWN_SESSION] == 1


def test_ingress_that_is_closed_stays_in_its_image(host: LogHost) -> None:
    host.lead()
    client = host.publication(INGRESS_STREAM)
    host.open_session(7)
    assert host.took(IngressClosed) == []
    host.proxy.open_ingress(is_open=False)
    assert host.took(IngressClosed) == [IngressClosed()]
    host.offer(client, session_message(7, b"later"))
    assert host.logged() == []
    host.proxy.open_ingress(is_open=True)
    assert [logged[HEADER:] for logged in host.logged()] == [b"later"]


def test_a_log_that_pushes_back_holds_ingress_up_and_nothing_is_lost(host: LogHost) -> None:
    host.lead()
    client = host.publication(INGRESS_STREAM)
    host.open_session(7)
    expected: list[bytes] = []
    while len(expected) < 400 and client.offer(session_message(7, (payload := bytes([len(expected) % 256]) * 300))) > 0:
        expected.append(payload)
        host.work()
    assert len(expected) < 250, "both logs are full"
    assert host.agent.ingress_drops.total == 0
    messages: list[bytes] = []
    while len(messages) < len(expected):
        messages += host.logged()
    assert [message[HEADER:] for message in messages] == expected


def test_a_message_longer_than_the_log_takes_is_dropped(hosts: Callable[..., LogHost]) -> None:
    host = hosts()
    host.lead()
    client = host.publication(INGRESS_STREAM, "aeron:ipc?term-length=1m")
    host.open_session(7)
    host.offer(client, session_message(7, bytes(64 * 1024)))
    host.offer(client, session_message(7, b"short"))
    assert [logged[HEADER:] for logged in host.logged()] == [b"short"]
    assert host.agent.ingress_drops[DropReason.MALFORMED] == 1


def test_messages_wait_in_their_images_while_the_conductor_has_no_room_for_more(hosts: Callable[..., LogHost]) -> None:
    host = hosts(message_bytes_max=10_000)
    host.lead()
    host.open_session(7)
    clients = [host.publication(INGRESS_STREAM) for _ in range(3)]
    for client in clients:
        host.offer(client, FOREIGN[:8] + bytes(6_000))
        host.offer(client, session_message(7, b"behind"))
    host.invoker.invoke()
    waiting = host.events.message_bytes
    assert waiting == 6_008, "of three messages one finds room at a time"
    events = [event for _ in range(3) for event in host.took(IngressMessage)]
    assert len(events) == 3
    for event in events:
        host.proxy.resume_image(event.image)
    assert len(host.logged()) == 3
    assert host.agent.ingress_drops.total == 0


def test_an_image_that_ends_is_given_back(host: LogHost) -> None:
    host.lead()
    client = host.publication(INGRESS_STREAM)
    host.open_session(7)
    host.offer(client, session_message(7, b"last"))
    assert len(host.logged()) == 1
    client.close()
    host.until(lambda: any(isinstance(event, ImageReturned) for event in host.seen), "the end of the image")
    [event] = host.took(ImageReturned)
    assert not event.is_malformed
    assert event.image.loan.is_returned
    host.lenders[0].recall()
    host.until(lambda: host.lenders[0].is_returned, "the images")
