"""Requests for positions that the sleeping conductor answers, and all others, which end its sleep and are left to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aerowire.archive.agents.agent_events import AgentEvents
from aerowire.archive.agents.conductor_sleeper import ConductorSleeper
from aerowire.archive.agents.position_answers import PositionAnswers
from aerowire.archive.protocol_version import PROTOCOL_VERSION
from aerowire.base.idle import BackoffIdleStrategy
from aerowire.client import Aeron, ExclusivePublication, Image, Subscription
from aerowire.codecs.flyweights import archive as messages
from aerowire.codecs.flyweights.cnc import BroadcastTrailerDecoder
from aerowire.system.clock import SystemClock
from tests.archive.agents.archive_host import ArchiveHost, Recorded, image_of
from tests.support.waiting import no_longer_than, wait_until

CHANNEL = "aeron:ipc?term-length=64k"
SESSION_ID = 71
SHORT_NS = 20_000_000
LONG_NS = 60_000_000_000


class Asked:
    """A session whose requests the sleeper sees, and a recording of 96 bytes with the id 0."""

    def __init__(self, client: Aeron, archive: ArchiveHost) -> None:
        self.opened: list[Subscription | ExclusivePublication] = []
        self.requests, self.image = self.stream(client, 31)
        self.responses, self.response_image = self.stream(client, 32)
        self.recorded: Recorded = archive.record(recording_id=0)
        self.recorded.send(bytes(64))
        self.positions = PositionAnswers(PROTOCOL_VERSION)
        self.positions.add_recording(self.recorded.session)
        self.positions.admit(SESSION_ID, self.image, self.responses)
        to_clients = bytearray(1024 + BroadcastTrailerDecoder.ENCODED_LENGTH)
        self.sleeper = ConductorSleeper(BackoffIdleStrategy(), SystemClock(), AgentEvents(), to_clients, self.positions)
        self.sleeper.has_answers()
        self.sleeper.watch([self.image])

    def stream(self, client: Aeron, stream_id: int) -> tuple[ExclusivePublication, Image]:
        """Open a stream, and return both ends."""
        subscription = client.add_subscription(CHANNEL, stream_id)
        publication = client.add_exclusive_publication(CHANNEL, stream_id)
        self.opened += [subscription, publication]
        image = image_of(subscription, publication.session_id)
        wait_until(lambda: publication.is_connected, "not connected")
        return publication, image

    def ask(self, correlation_id: int, *, session_id: int = SESSION_ID, recording_id: int = 0) -> None:
        """Send a request for a position."""
        request = messages.RecordingPositionRequest(control_session_id=session_id, correlation_id=correlation_id, recording_id=recording_id)
        wait_until(lambda: self.requests.offer(request.encode()) > 0, "no room for a request")

    def is_left_to_conductor(self) -> bool:
        """Sleep; return whether a request has ended it, which is still there."""
        before = self.image.position
        with no_longer_than(30.0, "nothing ends the sleep"):
            self.sleeper.sleep(LONG_NS)
        assert self.image.position == before
        return self.image.poll(lambda *_: None, 1) == 1 and self.taken() == []

    def taken(self) -> list[bytes]:
        """Return the responses."""
        found: list[bytes] = []
        self.response_image.poll(lambda buffer, offset, length, _: found.append(bytes(buffer[offset : offset + length])), 100)
        return found

    def close(self) -> None:
        for handle in self.opened:
            handle.close()


@pytest.fixture
def asked(client: Aeron, archive: ArchiveHost) -> Iterator[Asked]:
    found = Asked(client, archive)
    yield found
    found.close()


def response(correlation_id: int, position: int) -> bytes:
    """Return what the conductor itself would send."""
    return messages.ControlResponse(
        control_session_id=SESSION_ID,
        correlation_id=correlation_id,
        relevant_id=position,
        code=messages.ControlResponseCode.OK,
        version=PROTOCOL_VERSION,
    ).encode()


def test_answers_with_how_far_the_recording_is_and_sleeps_on(asked: Asked) -> None:
    asked.ask(1)
    asked.ask(2)
    asked.sleeper.sleep(SHORT_NS)
    assert asked.sleeper.take_slept_ns() >= SHORT_NS
    assert asked.taken() == [response(1, 96), response(2, 96)]
    asked.recorded.send(bytes(64))
    asked.ask(3)
    asked.sleeper.sleep(SHORT_NS)
    assert asked.taken() == [response(3, 192)]
    assert asked.image.position == asked.requests.position
    assert not asked.sleeper.has_news()


def test_goes_on_where_the_conductor_has_stepped_over_the_end_of_a_term(asked: Asked) -> None:
    assert asked.requests.offer(b"") > 0  # so that no request ends with its term
    assert asked.is_left_to_conductor()
    answers: list[bytes] = []

    def is_answered() -> bool:
        asked.sleeper.sleep(1)
        answers.extend(asked.taken())
        if asked.image.position % 65536 == 65536 - 32:
            assert asked.image.poll(lambda *_: None, 1) == 0  # padding alone
        return len(answers) > correlation_id

    for correlation_id in range(2 * 65536 // 64):
        asked.ask(correlation_id)
        wait_until(is_answered, "no answer")
    assert answers == [response(number, 96) for number in range(2048)]
    assert asked.image.position == asked.requests.position > 2 * 65536


def test_leaves_to_the_conductor_what_it_cannot_answer(asked: Asked) -> None:
    asked.ask(1, session_id=SESSION_ID + 1)
    assert asked.is_left_to_conductor()
    asked.ask(2, recording_id=1)
    assert asked.is_left_to_conductor()
    request = messages.RecordingPositionRequest(control_session_id=SESSION_ID, correlation_id=3, recording_id=0).encode()
    for other in (
        messages.StopPositionRequest(control_session_id=SESSION_ID, correlation_id=3, recording_id=0).encode(),
        request[:-1],
        request[:4] + b"\x09" + request[5:],  # another schema
        b"\x20" + request[1:] + bytes(8),  # a longer block
        request + bytes(asked.requests.max_payload_length),  # in fragments
        b"",
    ):
        assert asked.requests.offer(other) > 0
        assert asked.is_left_to_conductor()
        while asked.image.poll(lambda *_: None, 1):
            pass


def test_a_request_by_another_image_is_not_the_sessions(asked: Asked) -> None:
    asked.positions.admit(SESSION_ID, asked.response_image, asked.responses)
    asked.ask(1)
    assert asked.is_left_to_conductor()


def test_a_session_that_is_dismissed_and_a_recording_that_is_removed_are_left_to_the_conductor(asked: Asked) -> None:
    asked.positions.remove_recording(0)
    asked.ask(1)
    assert asked.is_left_to_conductor()
    asked.positions.add_recording(asked.recorded.session)
    asked.positions.dismiss(SESSION_ID)
    asked.positions.dismiss(SESSION_ID)
    asked.ask(2)
    assert asked.is_left_to_conductor()


def test_a_response_that_finds_no_room_is_left_to_the_conductor(asked: Asked) -> None:
    while asked.responses.offer(bytes(1024)) > 0:
        pass
    asked.ask(1)
    with no_longer_than(30.0, "nothing ends the sleep"):
        asked.sleeper.sleep(LONG_NS)
    assert asked.image.poll(lambda *_: None, 1) == 1


def test_a_closed_publication_gets_no_response(asked: Asked) -> None:
    asked.responses.close()
    asked.ask(1)
    assert asked.is_left_to_conductor()


def test_more_sessions_and_recordings_than_there_is_room_for_are_left_to_the_conductor(asked: Asked) -> None:
    for number in range(100):
        asked.positions.admit(1000 + number, asked.image, asked.responses)
    asked.ask(1)
    asked.ask(2, session_id=1000)
    asked.sleeper.sleep(SHORT_NS)
    assert len(asked.taken()) == 2
    asked.ask(3, session_id=1099)
    assert asked.is_left_to_conductor()


def test_a_conductor_that_has_no_time_to_sleep_answers_itself(asked: Asked) -> None:
    asked.ask(1)
    asked.sleeper.sleep(0)
    assert asked.taken() == []
    assert asked.sleeper.has_news()
