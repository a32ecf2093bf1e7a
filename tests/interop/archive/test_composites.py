"""One call each for what takes several operations, on official archives."""

from __future__ import annotations

import struct

import pytest

from aerowire.archive import REPLAY_ALL_AND_STOP, AeronArchive, ArchiveErrorCode, OpenReplay, ReplayParams, ReplicationParams
from aerowire.base.errors import ArchiveError, ArchiveTimeoutError
from aerowire.client import ExclusivePublication, Header, Subscription
from tests.interop.archive.nodes import finish, start_archive
from tests.interop.harness import Side
from tests.interop.scenarios import Scenario
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

CHANNEL = "aeron:ipc?alias=continued|term-length=64k"
STREAM_ID = 77
FRAME = 1024


def send(publication: ExclusivePublication, numbers: range) -> None:
    for number in numbers:
        publication.send(struct.pack("<i", number).ljust(FRAME - 32, b"."), timeout_ns="60s")


def numbers_of(subscription: Subscription, count: int) -> list[int]:
    numbers: list[int] = []

    def take(buffer: memoryview, offset: int, _length: int, _header: Header) -> None:
        numbers.append(struct.unpack_from("<i", buffer, offset)[0])

    wait_until(lambda: len(numbers) >= count, lambda: numbers[-3:], work=lambda: subscription.poll(take, 20))
    subscription.close()
    return numbers


def replayed(archive: AeronArchive, recording_id: int, count: int) -> list[int]:
    return numbers_of(archive.replay(recording_id, "aeron:ipc", 99, ReplayParams(length=REPLAY_ALL_AND_STOP)), count)


@pytest.mark.parametrize("driver_side", ["official", "aerowire"])
def test_a_publication_goes_on_where_its_recording_has_stopped(scenario: Scenario, driver_side: Side) -> None:
    scenario.feature("Archive client: a recorded publication across restarts")
    node = start_archive(scenario, "official", scenario.driver(driver_side))
    sent = 0
    for turn in range(3):
        with node.connect("ipc") as archive:
            continued = archive.add_continued_publication(CHANNEL, STREAM_ID)
            assert (continued.recording_id, continued.position, continued.publication.position) == (0, sent * FRAME, sent * FRAME)
            send(continued.publication, range(sent, sent + 70))
            sent += 70
            assert archive.await_recorded(0, sent * FRAME) == sent * FRAME
            if turn == 1:
                other = archive.add_continued_publication("aeron:ipc?alias=another|term-length=64k", STREAM_ID)
                assert (other.recording_id, other.position) == (1, 0)
    with node.connect("ipc") as archive:
        assert replayed(archive, 0, sent) == list(range(sent))
        wait_until(lambda: not archive.list_recording_subscriptions(), "the end of the archive's subscriptions")
        (found,) = archive.list_recording(0)
        assert (found.start_position, found.stop_position) == (0, sent * FRAME)
    scenario.observed("3 publishers, one recording")
    finish(scenario, node)


def test_a_wait_for_a_position_ends_with_what_keeps_it_from_coming(scenario: Scenario) -> None:
    scenario.feature("Archive client: waiting for a recorded position")
    node = start_archive(scenario, "official", scenario.driver("aerowire"))
    with node.connect("udp") as patient, node.connect("udp", aeron=patient.aeron, message_timeout_ns="500ms") as archive:
        continued = archive.add_continued_publication(CHANNEL, STREAM_ID)
        send(continued.publication, range(5))
        assert archive.await_recorded(0, 3 * FRAME) >= 3 * FRAME
        with pytest.raises(ArchiveTimeoutError, match=r"recording 0 does not move; at position 5120; expected position 6144 within 0\.5 s"):
            archive.await_recorded(0, 6 * FRAME)
        continued.publication.close()
        with pytest.raises(ArchiveError, match="has stopped before the position that is waited for") as caught:
            archive.await_recorded(0, 6 * FRAME)
        assert caught.value.error_code == ArchiveErrorCode.INVALID_POSITION
        with pytest.raises(ArchiveError, match="unknown recording id: 9"):
            archive.await_recorded(9, 0)
    scenario.observed("positions, a stop, a recording that does not exist")
    finish(scenario, node)


def test_the_end_of_a_recording_is_replayed_with_what_follows(scenario: Scenario) -> None:
    scenario.feature("Archive client: the tail of a recording")
    node = start_archive(scenario, "official", scenario.driver("aerowire"))
    with node.connect("ipc") as archive:
        continued = archive.add_continued_publication(CHANNEL, STREAM_ID)
        send(continued.publication, range(200))
        archive.await_recorded(0, 200 * FRAME)
        tail = archive.tail(0, "aeron:udp?endpoint=127.0.0.1:0", 99, length=10 * FRAME)
        assert isinstance(tail, OpenReplay)
        send(continued.publication, range(200, 210))
        numbers = numbers_of(tail.subscription, 210 - 128)
        # Message 190 is in the third term of 64, which begins with message 128.
        assert numbers == list(range(128, 210))
        archive.stop_replay(tail.replay_session_id)
        with pytest.raises(ArchiveError, match="unknown recording id: 9"):
            archive.tail(9, "aeron:ipc", 99, length=1)
    scenario.observed("82 messages")
    finish(scenario, node)


def test_a_recording_is_copied_whole_or_the_reason_is_told(scenario: Scenario) -> None:
    scenario.feature("Archive client: a copy of a recording")
    source, target = (start_archive(scenario, "official", scenario.driver("aerowire")) for _ in range(2))
    with source.connect("ipc") as from_archive, target.connect("ipc") as to_archive:
        continued = from_archive.add_continued_publication(CHANNEL, STREAM_ID)
        send(continued.publication, range(100))
        from_archive.await_recorded(0, 100 * FRAME)
        continued.publication.close()
        wait_until(lambda: from_archive.get_stop_position(0) == 100 * FRAME, "the recording's stop")
        for copy in range(2):
            assert to_archive.copy_recording(0, 10, source.control_channel) == copy
        assert replayed(to_archive, 1, 100) == list(range(100))
        shorter = to_archive.copy_recording(0, 10, source.control_channel, ReplicationParams(stop_position=50 * FRAME))
        assert to_archive.get_stop_position(shorter) == 50 * FRAME
        with pytest.raises(ArchiveError, match="unknown src recording id 4321") as caught:
            to_archive.copy_recording(4321, 10, source.control_channel)
        assert caught.value.error_code == ArchiveErrorCode.UNKNOWN_RECORDING
        assert to_archive.poll_for_error_response() is None
    scenario.observed("copies of 100 and of 50 messages")
    finish(scenario, source, target)
