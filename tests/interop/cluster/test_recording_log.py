"""The recording log of a cluster node, between the official class and our layout: each reads what the other writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.codecs.flyweights.recording_log import (
    ENTRY_TYPE_INVALID_FLAG,
    EntryType,
    RecordingLogEntryDecoder,
    SnapshotEntryEncoder,
    StandbySnapshotEntryDecoder,
    StandbySnapshotEntryEncoder,
    TermEntryEncoder,
)
from tests.interop.harness import Java

pytestmark = pytest.mark.interop

FILE = "recording.log"
ALIGNMENT = RecordingLogEntryDecoder.ALIGNMENT
# What RecordingLogFile.java writes: recording, term, where it begins, position, time, service, type, valid, endpoint.
WRITTEN = [
    "7 0 0 12288 1000 -1 0 true null",
    "8 0 0 4096 1100 0 1 true null",
    "9 0 0 4096 1101 -1 1 true null",
    "10 0 0 8192 1200 0 2 true standby.example.com:8010",
    "11 0 0 8192 1201 -1 2 true h:1",
    "7 1 12288 -1 2000 -1 0 true null",
    "12 1 12288 16384 2100 0 1 false null",
    "13 1 12288 16384 2101 -1 1 false null",
]


def padded(entry: bytes) -> bytes:
    return entry + bytes(-len(entry) % ALIGNMENT)


def read_entries(data: bytes) -> Iterator[str]:
    """Print the entries of a file as RecordingLogFile.java does."""
    at = 0
    while at < len(data):
        entry, length = RecordingLogEntryDecoder(data, at), RecordingLogEntryDecoder.ENCODED_LENGTH
        endpoint, kind = "null", entry.entry_type & ~ENTRY_TYPE_INVALID_FLAG
        if entry.entry_type in (EntryType.STANDBY_SNAPSHOT, EntryType.INVALID_STANDBY_SNAPSHOT):
            standby = StandbySnapshotEntryDecoder(data, at)
            endpoint, length = standby.archive_endpoint, standby.encoded_length
        if entry.entry_type != EntryType.REMOVED:
            numbers = (entry.recording_id, entry.leadership_term_id, entry.term_base_log_position, entry.log_position, entry.timestamp)
            is_valid = str(kind == entry.entry_type).lower()
            yield " ".join(map(str, (*numbers, entry.service_id, kind, is_valid, endpoint)))
        at += length + -length % ALIGNMENT


def run(java: Java, what: str, directory: Path) -> list[str]:
    """Return the entries as the official class has them: not in the order of the file, but sorted by what they are."""
    return java.run_tool("RecordingLogFile", directory, what, str(directory)).splitlines()


def test_we_read_what_the_official_class_writes(java: Java, tmp_path: Path) -> None:
    assert sorted(run(java, "write", tmp_path)) == sorted(WRITTEN)
    assert list(read_entries((tmp_path / FILE).read_bytes())) == WRITTEN


def test_the_official_class_reads_what_we_write(java: Java, tmp_path: Path) -> None:
    endpoint = "archive-of-a-standby-node.example.com:8010"
    term = TermEntryEncoder.encode(recording_id=7, log_position=4096, timestamp=1000, service_id=-1)
    gone = SnapshotEntryEncoder.encode(recording_id=5, log_position=64, timestamp=1001, entry_type=EntryType.REMOVED)
    invalid = SnapshotEntryEncoder.encode(recording_id=8, log_position=64, timestamp=1002, entry_type=EntryType.INVALID_SNAPSHOT)
    standby = StandbySnapshotEntryEncoder.encode(recording_id=9, log_position=96, timestamp=1003, archive_endpoint=endpoint)
    (tmp_path / FILE).write_bytes(b"".join(map(padded, (term, gone, invalid, standby))))
    expected = ["7 0 0 4096 1000 -1 0 true null", "8 0 0 64 1002 0 1 false null", f"9 0 0 96 1003 0 2 true {endpoint}"]
    assert sorted(run(java, "read", tmp_path)) == expected
    assert list(read_entries((tmp_path / FILE).read_bytes())) == expected
