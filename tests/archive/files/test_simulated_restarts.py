"""An Archive's files in a simulated world: whoever dies is followed at once, and recordings have what was synced."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest

from aerowire.archive.files.catalog import Catalog
from aerowire.archive.files.checksum import checksum_named
from aerowire.archive.files.mark_file import ArchiveDetails, ArchiveMarkFile
from aerowire.archive.files.recovery import recover_recordings
from aerowire.base.errors import ActiveArchiveError, FileError
from aerowire.codecs.flyweights.transport import DataHeaderEncoder
from aerowire.simulation import SECOND, SimulatedWorld
from aerowire.simulation.disk.disk import SimulatedDisk
from aerowire.simulation.disk.disk_faults import DiskFaults
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from aerowire.system.clock import ManualClock
from tests.archive.files.entries import TERM, entry

DIRECTORY = Path("/archive")
SEGMENT = 2 * TERM
CHECKSUM = checksum_named("CRC-32C")
DETAILS = ArchiveDetails(
    archive_id=1,
    control_channel="",
    control_stream_id=10,
    local_control_channel="aeron:ipc",
    local_control_stream_id=10,
    events_channel="",
    events_stream_id=30,
    aeron_directory="/dev/shm/aeron",
)


@pytest.mark.parametrize("loses_power", [False, True])
def test_the_mark_file_of_a_dead_archive_keeps_no_other_from_starting(seed: int, loses_power: bool) -> None:
    with SimulatedWorld(seed=seed) as world:
        host = world.add_host("10.0.0.1")
        first = host.new_process("archive")
        ports = host.ports_for(first)
        ports.files.make_directory(DIRECTORY)
        ports.files.sync_directory("/")
        mark = ArchiveMarkFile.create(DIRECTORY, DIRECTORY, DETAILS, ports, error_buffer_length=4096)
        mark.signal_ready(host.clock.now_ms())
        world.run(SECOND)
        mark.update_activity(host.clock.now_ms())
        with pytest.raises(ActiveArchiveError):
            ArchiveMarkFile.create(DIRECTORY, DIRECTORY, DETAILS, host.ports_for(host.new_process("archive")), error_buffer_length=4096)
        if loses_power:
            host.lose_power()
            host.restart()
        else:
            first.kill()
        second = ArchiveMarkFile.create(
            DIRECTORY, DIRECTORY, DETAILS, host.ports_for(host.new_process("archive")), error_buffer_length=4096
        )
        second.signal_ready(host.clock.now_ms())
        assert second.activity_timestamp_ms == host.clock.now_ms()
        second.close()


def sealed(rng: random.Random, position: int, length: int) -> bytes:
    """Return a frame with its checksum."""
    assert CHECKSUM is not None
    payload = rng.randbytes(length)
    checksum = CHECKSUM.compute(payload.ljust(length + -length % 32, b"\0"))
    offset, term_id = position % TERM, 7 + position // TERM
    data = DataHeaderEncoder.encode(session_id=checksum, stream_id=1001, term_id=term_id, term_offset=offset, payload=payload)
    return data.ljust(len(data) + -len(data) % 32, b"\0")


def record_blocks(rng: random.Random, files: SimulatedFiles) -> tuple[int, bytes]:
    """Write and sync blocks of a segment as a recorder does, and die at one; return up to where all is synced, and what was written."""
    content, durable = b"", 0
    with contextlib.suppress(FileError), files.open(DIRECTORY / "0-0.rec", writable=True, create=True) as file:
        file.preallocate(SEGMENT)
        file.sync()
        files.sync_directory(DIRECTORY)
        last = rng.randrange(30)
        for number in range(last + 1):
            begin = len(content)
            for _ in range(rng.randrange(1, 25)):
                if len(content) < SEGMENT:
                    content += sealed(rng, len(content), min(rng.choice((1, 300, 1376, 1376)), TERM - len(content) % TERM - 32))
            if number == last:
                files.kill_after(rng.randrange(1, 6))
            file.write_all(begin, content[begin:])
            file.sync(data_only=True)
            durable = len(content)
    return durable, content


def frame(position: int, length: int) -> bytes:
    # No byte of a payload is zero: a last frame that ends in a page of zeros is taken for a torn one.
    offset, payload = position % TERM, bytes(1 + (position // 32 + index) % 255 for index in range(length))
    data = DataHeaderEncoder.encode(session_id=5, stream_id=1001, term_id=7 + position // TERM, term_offset=offset, payload=payload)
    return data.ljust(len(data) + -len(data) % 32, b"\1")


def record(rng: random.Random, catalog: Catalog) -> tuple[int, bytes]:
    """Write frames as a recorder does; return up to where all of them are synced, and all that was written."""
    files, content, durable, position = catalog.files, bytearray(), 0, 0
    while position < rng.choice((1, 2, 3)) * SEGMENT:
        length = min(rng.choice((1, 300, 5000)), TERM - position % TERM - 32)
        data = frame(position, length)
        segment = position - position % SEGMENT
        with files.open(DIRECTORY / f"0-{segment}.rec", writable=True, create=True) as file:
            if position == segment:
                file.preallocate(SEGMENT)
                file.sync()
                files.sync_directory(DIRECTORY)
            file.write_all(position - segment, data)
            if rng.random() < 0.2 or position + len(data) == segment + SEGMENT:
                file.sync(data_only=True)
                durable = position + len(data)
        content += data
        position += len(data)
        if rng.random() < 0.002:
            break
    return durable, bytes(content)


def test_a_recovered_recording_has_all_that_was_synced_and_nothing_behind_its_end(seed: int) -> None:
    for number in range(25):
        rng = random.Random(seed + number)
        disk = SimulatedDisk(ManualClock(now_ns=1), seed=seed + number)
        files = SimulatedFiles(disk)
        files.make_directory(DIRECTORY)
        files.sync_directory("/")
        catalog = Catalog.open(DIRECTORY, files, capacity=4096, sync_level=1)
        catalog.add_recording(entry())
        disk.faults = DiskFaults(writeback=rng.choice((0.0, 0.1)))
        durable, content = record(rng, catalog)
        disk.faults = DiskFaults()
        disk.lose_power()
        again = Catalog.open(DIRECTORY, SimulatedFiles(disk), capacity=4096)
        findings = recover_recordings(again, 1)
        stop, where = again.stop_position(0), f"seed {seed + number}: {[str(one) for one in findings]}"
        assert durable <= stop <= len(content), where
        for segment in range(0, stop, SEGMENT):
            with again.files.open(DIRECTORY / f"0-{segment}.rec") as file:
                found = file.read(0, SEGMENT)
            end = max(min(durable - segment, SEGMENT), 0)
            assert found[:end] == content[segment : segment + end], where
            assert not any(found[max(stop - segment, 0) :]), where
        assert recover_recordings(Catalog.open(DIRECTORY, again.files, capacity=4096), 1) == []


def test_a_recovered_recording_with_checksums_ends_before_a_frame_that_lacks_a_part(seed: int) -> None:
    for number in range(100):
        rng = random.Random(seed + number)
        disk = SimulatedDisk(ManualClock(now_ns=1), seed=seed + number)
        files = SimulatedFiles(disk)
        files.make_directory(DIRECTORY)
        files.sync_directory("/")
        Catalog.open(DIRECTORY, files, capacity=4096, sync_level=1).add_recording(entry())
        disk.faults = DiskFaults(writeback=rng.choice((0.1, 0.5)), short_write=rng.choice((0.0, 0.8)))
        durable, content = record_blocks(rng, files)
        disk.faults = DiskFaults()
        disk.lose_power()
        again = Catalog.open(DIRECTORY, SimulatedFiles(disk), capacity=4096)
        findings = recover_recordings(again, 1, CHECKSUM)
        stop, where = again.stop_position(0), f"seed {seed + number}: {[str(one) for one in findings]}"
        assert durable <= stop <= len(content), where
        with again.files.open(DIRECTORY / "0-0.rec") as file:
            assert file.read(0, stop) == content[:stop], where
