"""Entries of catalogs that the tests here make."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from aerowire.recordings.catalog_entry import RecordingEntry

TERM = 64 << 10
ENTRY = RecordingEntry(
    recording_id=-1,
    start_timestamp_ms=1_700_000_000_000,
    start_position=0,
    initial_term_id=7,
    segment_file_length=2 * TERM,
    term_buffer_length=TERM,
    mtu_length=1408,
    session_id=5,
    stream_id=1001,
    stripped_channel="aeron:ipc",
    original_channel="aeron:ipc?term-length=64k",
    source_identity="aeron:ipc",
)


def entry(**changes: Any) -> RecordingEntry:
    return replace(ENTRY, **changes)
