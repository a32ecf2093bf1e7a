"""A disk that fills up under an archive: what it stops, what goes on, and that all works again once there is space."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.archive import ArchiveErrorCode
from aerowire.base.errors import ArchiveError
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from aerowire.simulation.host import ARCHIVE_DIR
from aerowire.simulation.world import SimulatedWorld
from tests.simulation.test_archives import DRIVER, MESSAGES, started
from tests.support.archives.simulated_client import IPC, SECOND, STREAM, ArchiveClient

MEBIBYTE = 1 << 20
LONG = [b"%06d" % number * 200 for number in range(1_500)]
# For the log buffers of the driver, which are on the same disk, and less than a segment.
LEFT = 900 << 10
BALLAST = Path(ARCHIVE_DIR).parent / "ballast"


@pytest.fixture
def world() -> Iterator[SimulatedWorld]:
    with SimulatedWorld(seed=5) as made:
        yield made


@pytest.mark.parametrize("is_preallocated", [False, True])
def test_recordings_that_reach_a_full_disk_stop_and_go_on_once_there_is_space(world: SimulatedWorld, *, is_preallocated: bool) -> None:
    host = world.add_empty_host("10.0.0.1", capacity=64 * MEBIBYTE)
    host.start_driver(**DRIVER)
    archive = started(world, host, file_sync_level=1, segment_file_length="1m", segment_file_preallocate=is_preallocated)
    client = ArchiveClient(world, host)
    publication, first = client.record()
    client.send(publication, LONG[:200])
    world.run(SECOND)
    files = SimulatedFiles(host.disk)
    ballast = files.open(BALLAST, writable=True, create=True)
    ballast.write_all(0, bytes(files.free_space(ARCHIVE_DIR) - LEFT))

    # The recording stops where it has come to; its publisher, replays and control go on.
    client.send(publication, LONG[200:])
    world.run(SECOND)
    error = client.archive.poll_for_error_response()
    assert error is not None
    assert error.error_code == ArchiveErrorCode.STORAGE_SPACE
    assert f"segmentFile={first}-{MEBIBYTE}.rec" in str(error)
    (found,) = client.recordings()
    # A segment that was reserved is filled; others take what there is.
    assert (0 < found.stop_position <= MEBIBYTE) if is_preallocated else (MEBIBYTE < found.stop_position < publication.position)
    ballast.truncate(ballast.length() - LEFT)  # for log buffers again
    messages = client.replayed(first)
    assert messages == LONG[: len(messages)]
    assert len(messages) >= 200
    publication.close()
    world.run(SECOND)

    # A new recording, for which there is no space either, ends as well.
    other = client.complete(client.archive.async_add_continued_publication("aeron:ipc?term-length=64k|alias=other", 7))
    ballast.write_all(ballast.length(), bytes(files.free_space(ARCHIVE_DIR)))
    client.send(other.publication, LONG[:1])
    world.run(SECOND)
    error = client.archive.poll_for_error_response()
    assert error is not None
    assert error.error_code == ArchiveErrorCode.STORAGE_SPACE
    other.publication.close()
    world.run(SECOND)

    # With space again, the same archive continues both, and begins another.
    ballast.close()
    files.delete(BALLAST)
    for channel, stream_id in ((IPC, STREAM), ("aeron:ipc?term-length=64k|alias=other", 7), ("aeron:ipc?term-length=64k|alias=new", 8)):
        continued = client.complete(client.archive.async_add_continued_publication(channel, stream_id))
        client.send(continued.publication, LONG[:300])
        position = continued.publication.position
        assert client.complete(client.archive.async_await_recorded(continued.recording_id, position)) == position
        continued.publication.close()
        world.run(SECOND)
        expected = messages if stream_id == STREAM else []
        assert client.replayed(continued.recording_id) == expected + LONG[:300]
    assert archive.is_serving
    assert client.archive.poll_for_error_response() is None


def test_no_recording_begins_below_the_threshold_and_those_that_are_there_go_on(world: SimulatedWorld) -> None:
    host = world.add_empty_host("10.0.0.1", capacity=64 * MEBIBYTE)
    host.start_driver(**DRIVER)
    started(world, host, low_storage_space_threshold=8 * MEBIBYTE)
    client = ArchiveClient(world, host)
    publication, first = client.record()
    client.send(publication, MESSAGES[:100])
    files = SimulatedFiles(host.disk)
    ballast = files.open(BALLAST, writable=True, create=True)
    ballast.write_all(0, bytes(files.free_space(ARCHIVE_DIR) - 6 * MEBIBYTE))
    with pytest.raises(ArchiveError) as caught:
        client.complete(client.archive.async_start_recording("aeron:ipc", 9))
    assert caught.value.error_code == ArchiveErrorCode.STORAGE_SPACE
    client.send(publication, MESSAGES)
    world.run(SECOND)
    assert client.position(first) == publication.position
    ballast.close()
    files.delete(BALLAST)
    client.complete(client.archive.async_start_recording("aeron:ipc", 9))
