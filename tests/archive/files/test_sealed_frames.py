"""Checksums show which frames were written in part, also in a recording of which some frames have none."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from aerowire.archive.files.catalog import Catalog
from aerowire.archive.files.checksum import Checksum, checksum_named
from aerowire.archive.files.recovery import recover_recordings
from aerowire.codecs.flyweights.base import align
from aerowire.codecs.flyweights.transport import DataFlags
from aerowire.system.file_system import FileSystem
from tests.support.archives.recordings import TERM, RecordingWriter, write_catalog

LAST_IMAGE, OLD_IMAGE, OLDER_IMAGE = 7, -1234567, 89  # session ids; the catalog has the first
CRC_32, CRC_32C = "CRC-32", "CRC-32C"


def checksum(name: str) -> Checksum:
    found = checksum_named(name)
    assert found is not None
    return found


class Sealing:
    """Writes frames with a checksum, or with the session id of an image in its place."""

    def __init__(self, directory: Path) -> None:
        self.writer = RecordingWriter(directory, mtu=8192)
        self.directory = directory

    @property
    def position(self) -> int:
        return self.writer.position

    def sealed(self, payload: bytes, name: str = CRC_32C) -> int:
        """Write a frame with its checksum; return where it begins."""
        padded = payload.ljust(align(len(payload) + 32, 32) - 32, b"\0")
        return self.unsealed(payload, checksum(name).compute(padded))

    def unsealed(self, payload: bytes, session_id: int) -> int:
        begin = self.writer.position
        self.writer.frame(payload, DataFlags.UNFRAGMENTED)
        self.writer.write(begin + 12, session_id.to_bytes(4, "little", signed=True))
        return begin

    def recovered(self, name: str = CRC_32C) -> tuple[int, list[str]]:
        """Recover the recording; return its stop position, and what was removed."""
        write_catalog(self.directory, [self.writer])
        catalog = Catalog.open(self.directory, FileSystem(), capacity=4096)
        findings = recover_recordings(catalog, 1, checksum(name))
        entry = catalog.entry(0)
        catalog.close()
        assert entry is not None
        return entry.stop_position, [str(finding).removeprefix(f"{self.directory}/") for finding in findings]


def removed(position: int) -> list[str]:
    reason = "a frame that does not have its checksum, and lacks a part"
    return [f"0-0.rec: offset {position} (recording 0): {reason}: removed up to the end of the segment"]


@pytest.fixture
def recording(tmp_path: Path) -> Sealing:
    return Sealing(tmp_path)


@pytest.mark.parametrize("written", [0, 1, 40, 700, 999])
def test_a_last_frame_of_which_the_end_is_missing_is_removed(recording: Sealing, tmp_path: Path, written: int) -> None:
    recording.sealed(b"x" * 1000)
    last = recording.sealed(b"y" * 1000)
    recording.writer.write(last + 32 + written, bytes(1000 - written))
    assert recording.recovered() == (last, removed(last))
    assert not any((tmp_path / "0-0.rec").read_bytes()[last:])


def test_a_last_frame_that_is_the_only_one_is_removed(recording: Sealing) -> None:
    only = recording.sealed(b"y" * 1000)
    recording.writer.write(only + 300, bytes(732))
    assert recording.recovered() == (0, removed(0))


def test_a_copy_of_the_frame_before_is_removed_where_its_end_is_missing(recording: Sealing) -> None:
    recording.sealed(b"x" * 6000)
    recording.sealed(b"x" * 6000)
    torn = recording.sealed(b"x" * 6000)
    recording.writer.write(torn + 3000, bytes(6032 - 3000))
    assert recording.recovered() == (torn, removed(torn))


def test_frames_behind_one_that_lacks_a_sector_are_removed(recording: Sealing) -> None:
    recording.sealed(b"x" * 1000)
    torn = recording.sealed(b"y" * 3000)
    recording.sealed(b"z" * 1000)
    recording.writer.write(2048, bytes(512))
    assert recording.recovered() == (torn, removed(torn))


@pytest.mark.parametrize(("begin", "end"), [(1536, 2048), (2040, 2048), (1088, 1536), (3000, 3072), (4079, 4087)])
def test_frames_behind_one_that_lacks_the_end_of_a_sector_are_removed(recording: Sealing, begin: int, end: int) -> None:
    # A half, a word, all behind the header in its sector, a piece, and the last word of the payload, which is padded from 4087 on.
    recording.sealed(b"x" * 1000)
    torn = recording.sealed(b"y" * 2999)
    recording.sealed(b"z" * 1000)
    recording.writer.write(begin, bytes(end - begin))
    assert recording.recovered() == (torn, removed(torn))


@pytest.mark.parametrize(("begin", "end"), [(1536, 2047), (2041, 2048), (1088, 1500), (3073, 3500)])
def test_a_frame_with_zeros_elsewhere_is_left(recording: Sealing, begin: int, end: int) -> None:
    recording.sealed(b"x" * 1000)
    recording.sealed(b"y" * 2999)
    recording.sealed(b"z" * 1000)
    recording.writer.write(begin, bytes(end - begin))
    assert recording.recovered() == (recording.position, [])


def test_the_second_of_two_copies_keeps_no_first_that_lacks_a_sector(recording: Sealing) -> None:
    recording.sealed(b"x" * 1000)
    torn = recording.sealed(b"y" * 3000)
    recording.sealed(b"y" * 3000)
    recording.writer.write(2048, bytes(512))
    assert recording.recovered() == (torn, removed(torn))


def test_a_recording_that_began_without_checksums_is_whole(recording: Sealing) -> None:
    for session_id in (OLDER_IMAGE, OLD_IMAGE):
        for _ in range(3):
            recording.unsealed(bytes(2000), session_id)
    recording.writer.pad()
    for _ in range(3):
        recording.sealed(b"x" * 2000)
    assert recording.recovered() == (recording.position, [])


def test_a_recording_that_goes_on_without_checksums_is_whole(recording: Sealing) -> None:
    recording.sealed(b"x" * 2000)
    recording.unsealed(b"x" + bytes(1999), LAST_IMAGE)
    assert recording.recovered() == (recording.position, [])


def test_one_frame_without_checksum_is_known_by_the_padding_behind(recording: Sealing) -> None:
    recording.sealed(b"x" * 2000)
    recording.unsealed(bytes(2000), OLD_IMAGE)
    padding = recording.position
    recording.writer.pad()
    recording.writer.write(padding + 12, OLD_IMAGE.to_bytes(4, "little", signed=True))
    recording.sealed(b"x" * 2000)
    assert recording.recovered() == (recording.position, [])


def test_a_recording_with_another_checksum_is_whole(recording: Sealing) -> None:
    for _ in range(3):
        recording.sealed(bytes(2000), CRC_32)
    recording.sealed(bytes(2000), CRC_32C)
    assert recording.recovered(CRC_32C) == (recording.position, [])


def test_a_frame_that_has_changed_but_lacks_nothing_is_left(recording: Sealing) -> None:
    recording.sealed(b"x" * 2000)
    changed = recording.sealed(b"y" * 2016)
    recording.writer.write(changed + 500, b"x")
    assert recording.recovered() == (recording.position, [])


def test_images_without_checksums_are_known_over_segments(recording: Sealing, seed: int) -> None:
    rng = random.Random(seed)
    for session_id in (OLDER_IMAGE, OLD_IMAGE, None):
        end = recording.position + rng.randrange(TERM, 3 * TERM)
        while recording.position < end:
            payload = rng.randbytes(rng.randrange(2000)) + bytes(rng.randrange(2000))
            if recording.position % TERM + len(payload) + 64 > TERM:
                padding = recording.position
                recording.writer.pad()
                recording.writer.write(padding + 12, (session_id or LAST_IMAGE).to_bytes(4, "little", signed=True))
            elif session_id is None:
                recording.sealed(payload)
            else:
                recording.unsealed(payload, session_id)
    assert recording.recovered() == (recording.position, []), f"seed {seed}"
