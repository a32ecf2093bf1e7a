"""A follower of a recording, over its stops and extensions, beside a real archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aerowire.archive import ArchiveErrorCode, RecordingFollower
from aerowire.base.errors import ArchiveError
from aerowire.client import ExclusivePublication, initial_position
from tests.archive.conductor.conftest import CHANNEL, FRAME_LENGTH, STREAM_ID, TERM_LENGTH, Rig

REPLAY_CHANNEL, REPLAY_STREAM_ID = "aeron:ipc?alias=follower", 2002
LENGTH = FRAME_LENGTH - 32


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    found = Rig(tmp_path / "archive")
    yield found
    found.close()


class Following:
    """A follower, and the numbers of the messages that it has brought."""

    def __init__(self, rig: Rig, recording_id: int, position: int = -1) -> None:
        self.rig = rig
        self.follower = RecordingFollower(rig.client, recording_id, REPLAY_CHANNEL, REPLAY_STREAM_ID, position=position)
        self.found: list[int] = []

    def run(self, until: Callable[[], object]) -> None:
        """Poll until something is so."""

        def poll() -> object:
            self.follower.poll(lambda buffer, offset, *_: self.found.append(int.from_bytes(buffer[offset : offset + 4], "little")))
            return until()

        self.rig.run(poll, cycles=1_000_000)


def publish(rig: Rig, publication: ExclusivePublication, numbers: range) -> int:
    for number in numbers:
        message = number.to_bytes(4, "little").ljust(LENGTH, b".")
        rig.run(lambda: publication.offer(message) > 0)  # noqa: B023 called at once
    return publication.position


def recorded(rig: Rig, numbers: range, extended: int | None = None) -> int:
    """Record messages and stop, from where recording `extended` has stopped; return the recording's id."""
    channel = CHANNEL
    if extended is None:
        subscription_id = rig.client.start_recording(channel, STREAM_ID)
    else:
        (one,) = rig.client.list_recording(extended)
        start = initial_position(one.stop_position, one.initial_term_id, TERM_LENGTH)
        channel = "aeron:ipc?" + "|".join(f"{key.replace('_', '-')}={value}" for key, value in start.items())
        subscription_id = rig.client.extend_recording(extended, CHANNEL, STREAM_ID)
    publication = rig.publication(channel)
    recording_id = rig.started()
    end = publish(rig, publication, numbers)
    rig.run(lambda: rig.client.get_recording_position(recording_id) == end)
    rig.client.stop_recording(subscription_id)
    publication.close()
    rig.signals.clear()
    return recording_id


def test_a_follower_of_a_recording_that_is_stopped_and_extended_goes_on(rig: Rig) -> None:
    recording_id = recorded(rig, range(70))
    following = Following(rig, recording_id)
    following.run(lambda: following.follower.is_stopped)
    assert following.found == list(range(70))
    for begin in (70, 140):
        recorded(rig, range(begin, begin + 70), recording_id)
        following.run(lambda: len(following.found) == begin + 70)  # noqa: B023 called at once
    following.run(lambda: following.follower.is_stopped)
    assert following.found == list(range(210))
    assert following.follower.position == rig.client.get_stop_position(recording_id)
    assert rig.failures == []
    following.follower.close()
    following.follower.close()


def test_a_follower_is_with_a_recording_while_it_stops(rig: Rig) -> None:
    subscription_id = rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    recording_id = rig.started()
    following = Following(rig, recording_id)
    publish(rig, publication, range(10))
    following.run(lambda: len(following.found) == 10)
    assert not following.follower.is_stopped
    rig.client.stop_recording(subscription_id)
    following.run(lambda: following.follower.is_stopped)
    publication.close()
    rig.signals.clear()
    recorded(rig, range(10, 20), recording_id)
    following.run(lambda: len(following.found) == 20)
    assert following.found == list(range(20))
    following.follower.close()


def test_a_follower_begins_where_another_has_ended(rig: Rig) -> None:
    recording_id = recorded(rig, range(20))
    following = Following(rig, recording_id, position=12 * FRAME_LENGTH)
    following.run(lambda: following.follower.is_stopped)
    assert following.found == list(range(12, 20))
    again = Following(rig, recording_id, position=20 * FRAME_LENGTH)
    again.run(lambda: again.follower.is_stopped)
    assert again.found == []
    for one in (following, again):
        one.follower.close()


@pytest.mark.parametrize(
    ("recording_id", "position", "code", "text"),
    [
        (7, -1, ArchiveErrorCode.UNKNOWN_RECORDING, "there is no such recording"),
        (0, 21 * FRAME_LENGTH, ArchiveErrorCode.INVALID_POSITION, "does not hold the position to go on at"),
        (0, 40, ArchiveErrorCode.INVALID_POSITION, "is not a multiple of FRAME_ALIGNMENT"),
        (0, 64, ArchiveErrorCode.INVALID_POSITION, "does not point to a valid frame"),
    ],
)
def test_what_cannot_be_followed_is_told(rig: Rig, recording_id: int, position: int, code: ArchiveErrorCode, text: str) -> None:
    recorded(rig, range(20))
    following = Following(rig, recording_id, position)
    with pytest.raises(ArchiveError, match=text) as caught:
        following.run(lambda: False)
    assert (caught.value.error_code, caught.value.recording_id) == (code, recording_id)
    following.follower.close()


def test_what_the_archive_cannot_read_ends_a_follower_and_is_told(rig: Rig) -> None:
    recording_id = recorded(rig, range(20))
    path = rig.directory / f"{recording_id}-0.rec"
    content = bytearray(path.read_bytes())
    content[8 * FRAME_LENGTH : 8 * FRAME_LENGTH + 4] = b"\1\0\0\0"
    path.write_bytes(content)
    following = Following(rig, recording_id)
    with pytest.raises(ArchiveError):
        following.run(lambda: False)
    assert following.found == list(range(8))
    assert any("of the frame at segmentOffset=8448" in str(failure) for failure in rig.failures)
    following.follower.close()
