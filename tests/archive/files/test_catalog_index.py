"""The index finds recordings as a plain search through the entries does."""

from __future__ import annotations

import random

import pytest

from aerowire.archive.files.catalog_index import CatalogIndex
from aerowire.recordings.catalog_entry import decode_entry, encode_entry
from aerowire.recordings.catalog_layout import CatalogHeader, entry_places
from tests.archive.files.entries import entry

CHANNELS = (
    "aeron:ipc",
    "aeron:ipc?alias=ab",
    "aeron:ipc?alias=aab",
    "aeron:udp?endpoint=localhost:40123",
    "aeron:udp?endpoint=a:1|alias=b",
)


def catalog_of(rng: random.Random, count: int) -> bytes:
    """Return a catalog of recordings with gaps between their ids, some of them unusable."""
    data, recording_id = bytearray(CatalogHeader().encode()), -1
    for _ in range(count):
        recording_id += rng.choice((1, 1, 1, 2, 5))
        channel = rng.choice(CHANNELS)
        changes = {"session_id": rng.choice((5, -6)), "stream_id": rng.choice((1001, 1002)), "original_channel": channel}
        changes["stop_position"] = rng.choice((-1, 64))
        made = encode_entry(entry(recording_id=recording_id, **changes), 64)
        made[4] = rng.choice((1, 1, 1, 0, 2))
        data += made
    return bytes(data + bytes(512))


@pytest.mark.parametrize("count", [0, 1, 2, 200])
def test_searches_agree_with_a_plain_twin(seed: int, count: int) -> None:
    rng = random.Random(seed)
    data = catalog_of(rng, count)
    entries = [decode_entry(data, place.offset, place.end) for place in entry_places(data, CatalogHeader())]
    valid = [one for one in entries if one.is_valid]
    index = CatalogIndex()
    scan = index.scan(data, 32, False)
    assert (scan.suspects, scan.gaps, scan.end) == ([], [], len(data) - 512)
    assert scan.active == [one.recording_id for one in valid if one.is_active]
    assert scan.last_recording_id == (entries[-1].recording_id if entries else -1)
    assert index.ids_from(0, 1000) == [one.recording_id for one in valid]
    for recording_id in range(-2, scan.last_recording_id + 3):
        assert index.offset_of(recording_id) == next((one.catalog_offset for one in valid if one.recording_id == recording_id), -1)
    for _ in range(200):
        low, session, stream = rng.randrange(scan.last_recording_id + 3), rng.choice((5, -6, 9)), rng.choice((1001, 1002))
        fragment = rng.choice(("", "ab", "aab", "aaab", "localhost:40123", "b", "aeron:ipc", *CHANNELS)).encode()
        matching = [
            one for one in valid if one.recording_id >= low and one.stream_id == stream and fragment.decode() in one.original_channel
        ]
        last = max((one.recording_id for one in matching if one.session_id == session), default=-1)
        assert index.find_last(data, low, session, stream, fragment) == last, (seed, low, fragment)


def test_ids_ascend_and_removed_ones_are_gone() -> None:
    index = CatalogIndex()
    for recording_id in range(0, 100, 2):
        index.add(recording_id, 1000 + recording_id)
    with pytest.raises(ValueError, match="recording 98 is not above the last one"):
        index.add(98, 5)
    assert [index.remove(recording_id) for recording_id in (0, 50, 98, 51)] == [1000, 1050, 1098, -1]
    assert index.ids_from(0, 1000) == [one for one in range(2, 98, 2) if one != 50]
    assert len(index) == 47
    assert index.ids_from(49, 2) == [52, 54]
    assert index.ids_from(49, -1) == []


def test_entries_with_changed_bytes_are_suspects_as_their_decoder_judges(seed: int) -> None:
    rng = random.Random(seed)
    sound = encode_entry(entry(recording_id=3, stop_position=64), 64)
    for _ in range(3000):
        data = bytearray(sound)
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(4, len(data))
            data[at] = rng.choice((0, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        decoded = decode_entry(data, 0, len(data))
        if data[4:8] in (bytes(4), b"\2\0\0\0"):
            continue  # marked as unusable already
        texts = (decoded.stripped_channel, decoded.original_channel, decoded.source_identity)
        is_sound = decoded.damage is None and all(text and "\0" not in text for text in texts)
        scan = CatalogIndex().scan(CatalogHeader().encode() + data, 32, False)
        assert (scan.suspects == []) == is_sound, f"seed {seed}: {data.hex()}: {decoded}"
