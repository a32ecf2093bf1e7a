"""Catalogs from and to bytes: the official Archive's own, and such as nobody wrote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.recordings.catalog_entry import RecordingEntry, decode_entry, encode_entry
from aerowire.recordings.catalog_layout import CatalogHeader, entry_places
from tests.support.snapshots import GOLDEN_NAMES

ENTRY = RecordingEntry(
    recording_id=5,
    start_timestamp_ms=1_700_000_000_000,
    start_position=200704,
    initial_term_id=-7,
    segment_file_length=128 << 10,
    term_buffer_length=64 << 10,
    mtu_length=1408,
    session_id=-9,
    stream_id=1001,
    stripped_channel="aeron:ipc?alias=a",
    original_channel="aeron:ipc?alias=a|term-length=64k",
    source_identity="aeron:ipc",
)


@pytest.mark.parametrize("name", GOLDEN_NAMES)
def test_official_catalogs_decode_and_encode_byte_for_byte(golden_archives: Path, name: str) -> None:
    data = (golden_archives / name / "archive-dir" / "archive.catalog").read_bytes()
    header = CatalogHeader.decode(data)
    assert header.encode() == data[:32]
    places = list(entry_places(data, header))
    entries = [decode_entry(data, place.offset, place.end) for place in places]
    assert [entry.recording_id for entry in entries] == list(range(16))
    assert [entry.recording_state for entry in entries if not entry.is_valid] == [RecordingState.DELETED]
    assert all(
        encode_entry(entry, header.alignment) == data[place.offset : place.end] for entry, place in zip(entries, places, strict=True)
    )
    assert not any(data[places[-1].end :])


def test_slots_of_the_legacy_form_have_1024_bytes() -> None:
    header = CatalogHeader(version=2 << 16, alignment=0)
    slots = [bytes(encode_entry(replace(ENTRY, recording_id=number), 1)).ljust(1024, b"\0") for number in range(3)]
    data = header.encode().ljust(1024, b"\0") + b"".join(slots) + bytes(1024)
    places = list(entry_places(data, CatalogHeader.decode(data)))
    assert [(place.offset, place.end) for place in places] == [(1024, 2048), (2048, 3072), (3072, 4096)]
    assert [decode_entry(data, place.offset, place.end).recording_id for place in places] == [0, 1, 2]


@pytest.mark.parametrize(
    ("length", "found"), [(79, "catalog entry of 79 bytes"), (-1, "catalog entry of -1"), (1 << 30, "expected 80 to 480")]
)
def test_a_length_that_cannot_be_ends_the_catalog(length: int, found: str) -> None:
    data = CatalogHeader().encode() + length.to_bytes(4, "little", signed=True) + bytes(508)
    (place,) = entry_places(data, CatalogHeader())
    assert place.offset == 32
    assert found in str(place.problem)


def test_positions_of_an_entry_lead_to_segments_and_terms() -> None:
    assert (ENTRY.base_position, ENTRY.segment_length) == (196608, 131072)
    assert ENTRY.segment_of(196608 + 131072) == 327680
    assert ENTRY.term_id_of(200704) == -4
    assert ENTRY.is_active


@pytest.mark.parametrize(
    ("changes", "damage"),
    [
        ({"term_buffer_length": 65535}, "termBufferLength 65535"),
        ({"segment_file_length": 3 << 16}, "segmentFileLength 196608"),
        ({"mtu_length": 32}, "mtuLength 32"),
        ({"recording_id": -1}, "recordingId -1"),
        ({"start_position": 33}, "startPosition 33"),
        ({"stop_position": 32}, "stopPosition 32"),
        ({"stop_position": 200737}, "stopPosition 200737"),
    ],
)
def test_a_descriptor_that_cannot_be_is_read_with_its_damage(changes: dict[str, int], damage: str) -> None:
    data = encode_entry(replace(ENTRY, **changes), 64)  # type: ignore[arg-type]
    entry = decode_entry(data, 0, len(data))
    assert damage in str(entry.damage)
    assert not entry.is_valid


def test_an_unknown_state_and_a_text_that_leaves_the_entry_are_damage() -> None:
    data = encode_entry(ENTRY, 64)
    data[4] = 9
    assert decode_entry(data, 0, len(data)).damage == "state 9, expected one of [0, 1, 2]"
    data = encode_entry(ENTRY, 64)
    data[112:116] = b"\xff\xff\xff\xff"
    assert "text 0 of 4294967295 bytes leaves its entry" in str(decode_entry(data, 0, len(data)).damage)
