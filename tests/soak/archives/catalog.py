"""A catalog of 100,000 recordings: how long an archive takes to open it, to search it and to list from it; and what it keeps on a disk
that fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from aerowire.archive.conductor.descriptor_listing import DescriptorListing
from aerowire.archive.files.catalog import Catalog
from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.recordings.catalog_entry import encode_entry
from aerowire.recordings.catalog_layout import CatalogHeader
from aerowire.system.file_system import FileSystem
from tests.archive.conductor.response_wire import ResponseWire
from tests.archive.files.catalog_lives import live
from tests.archive.files.entries import entry
from tests.soak.bars import Part, Size

ENTRIES = {Size.FULL: 100_000, Size.SMALL: 5_000}
LIVES = {Size.FULL: 500, Size.SMALL: 3}
OPEN_S, FIND_S, LIST_S = 2.0, 0.005, 0.100
LISTED = 1_000
HEAD = bytes(24)  # of the message of a descriptor
TRIES = 5  # of which the best counts: other work may run as well


def best(work: Callable[[], object]) -> float:
    """Return the seconds that something takes when nothing comes between."""
    found = []
    for _ in range(TRIES):
        started = time.perf_counter()
        work()
        found.append(time.perf_counter() - started)
    return min(found)


def large_catalog(count: int, scratch: Path) -> str:
    """Open, search and list; half of the searches find nothing, and all recordings are of the same stream, so that each is looked at."""
    channel = "aeron:udp?endpoint=localhost:40123|alias=recorded"
    entries = (encode_entry(entry(recording_id=number, original_channel=channel), 64) for number in range(count))
    (scratch / "archive.catalog").write_bytes(CatalogHeader(next_recording_id=count).encode() + b"".join(entries) + bytes(4096))
    started = time.perf_counter()
    catalog = Catalog.open(scratch, FileSystem(), capacity=1 << 20)
    open_s = time.perf_counter() - started
    assert len(catalog) == count
    assert catalog.find_last(0, 5, 1001, b"localhost:4012x") == -1
    find_s = best(lambda: catalog.find_last(0, 5, 1001, b"localhost:4012x"))
    wire = ResponseWire()
    list_s = min(listing_s(catalog, wire, DescriptorListing(HEAD, count // 2, LISTED), LISTED) for _ in range(TRIES))
    uri_s = min(
        listing_s(catalog, wire, DescriptorListing(HEAD, 0, LISTED, stream_id=1001, channel_fragment=b"localhost:4012x"), 0)
        for _ in range(TRIES)
    )
    wire.close()
    assert (open_s < OPEN_S, find_s < FIND_S, list_s < LIST_S, uri_s < LIST_S) == (True,) * 4, (open_s, find_s, list_s, uri_s)
    capacity = catalog.capacity
    while catalog.capacity == capacity:
        catalog.add_recording(entry())
    assert catalog.capacity == capacity + capacity // 2
    assert all(catalog.change_state(one, RecordingState.DELETED) for one in range(0, 100, 2))
    added, kept = len(catalog) + 50 - count, catalog.ids_from(0, 200)
    catalog.close()
    again = Catalog.open(scratch, FileSystem(), capacity=1 << 20)
    assert (again.ids_from(0, 200), len(again), again.findings) == (kept, count + added - 50, [])
    again.close()
    return f"{count:,} recordings: open {open_s:.2f} s, find-last {find_s * 1e3:.2f} ms, list {LISTED:,} {list_s * 1e3:.1f} ms"


def listing_s(catalog: Catalog, wire: ResponseWire, listing: DescriptorListing, count: int) -> float:
    """Return the seconds in which a listing sends what there is, without what its subscriber does meanwhile."""
    spent_s, found = 0.0, 0
    while listing.left and not listing.is_exhausted:
        started = time.perf_counter()
        listing.send(wire.publication, catalog.index, catalog.data)
        spent_s += time.perf_counter() - started
        if listing.refusal:
            found += len(wire.take())
    assert found + len(wire.take()) == count
    return spent_s


def lives(seed: int, count: int, _scratch: Path) -> str:
    """Let catalogs live on failing disks, at each sync level."""
    repaired = 0
    for number in range(count):
        for sync_level, loses_power in ((0, False), (0, True), (1, True), (2, True)):
            repaired += live(seed + number, sync_level, loses_power=loses_power)
    return f"{4 * count:,} lives of catalogs, {repaired:,} repairs"


def parts(size: Size) -> list[Part]:
    return [
        Part("size", 1, partial(large_catalog, ENTRIES[size])),
        *(Part(f"lives-{seed}", seed, partial(lives, seed * 10_000, LIVES[size])) for seed in (1, 2)),
    ]
