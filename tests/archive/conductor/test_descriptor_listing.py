"""Descriptors of recordings on their way from a catalog's bytes to the subscriber of a response publication."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import pytest

from aerowire.archive.conductor.descriptor_listing import DescriptorListing
from aerowire.archive.files.catalog_index import CatalogIndex
from aerowire.base.errors import MessageTooLongError, PublicationClosedError
from aerowire.client.publications.publication import BACK_PRESSURED
from aerowire.recordings.catalog_entry import decode_entry, encode_entry
from aerowire.recordings.catalog_layout import CatalogHeader, entry_places
from tests.archive.conductor.response_wire import ResponseWire
from tests.archive.files.entries import entry
from tests.archive.files.test_catalog_index import CHANNELS, catalog_of
from tests.support.waiting import wait_until

HEAD = bytes(range(24))
HEADER_LENGTH = 32
ENTRY_HEADER_LENGTH = 32
RECORDING_ID_OFFSET = 16  # in a descriptor
ENTRY_LENGTH = 192  # of the entries of `catalog_with`


@pytest.fixture(scope="module")
def shared_wire() -> Iterator[ResponseWire]:
    found = ResponseWire()
    yield found
    found.close()


@pytest.fixture
def wire(shared_wire: ResponseWire) -> Iterator[ResponseWire]:
    yield shared_wire
    shared_wire.take()


def indexed(data: bytes | bytearray) -> CatalogIndex:
    index = CatalogIndex()
    index.scan(data, HEADER_LENGTH, False)
    return index


def catalog_with(count: int, **changes: object) -> bytearray:
    """Return a catalog of recordings with ids from 0, each ENTRY_LENGTH bytes long."""
    data = bytearray(CatalogHeader().encode())
    for recording_id in range(count):
        data += encode_entry(entry(recording_id=recording_id, stop_position=64, **changes), 64)
    return data


def ids_of(messages: list[bytes]) -> list[int]:
    return [int.from_bytes(message[len(HEAD) : len(HEAD) + 8], "little") for message in messages]


def test_a_message_is_the_head_and_the_entry_from_the_recording_id_on(wire: ResponseWire) -> None:
    data = catalog_with(2)
    listing = DescriptorListing(HEAD, 1, 5)
    assert listing.send(wire.publication, indexed(data), data) == 1
    assert wire.take() == [HEAD + data[HEADER_LENGTH + ENTRY_LENGTH + ENTRY_HEADER_LENGTH + RECORDING_ID_OFFSET :]]
    assert (listing.sent, listing.left, listing.refusal, listing.is_exhausted, listing.next_id) == (1, 4, 0, True, 2)


def test_a_listing_ends_with_its_count(wire: ResponseWire) -> None:
    data = catalog_with(5)
    listing = DescriptorListing(HEAD, 1, 2)
    listing.send(wire.publication, indexed(data), data)
    assert ids_of(wire.take()) == [1, 2]
    assert (listing.left, listing.is_exhausted) == (0, False)
    assert listing.send(wire.publication, indexed(data), data) == 0
    assert wire.take() == []


def test_listings_agree_with_a_plain_twin(seed: int, wire: ResponseWire) -> None:
    rng = random.Random(seed)
    data = catalog_of(rng, 200)
    entries = [decode_entry(data, place.offset, place.end) for place in entry_places(data, CatalogHeader())]
    valid = [one for one in entries if one.is_valid]
    index = indexed(data)
    for _ in range(100):
        first, count = rng.randrange(-2, entries[-1].recording_id + 3), rng.choice((-1, 0, 1, 7, 1000))
        stream_id, fragment = rng.choice((None, 1001, 1002, 5)), rng.choice(("", "ab", "aab", "b", "localhost:40123", *CHANNELS))
        twin = [
            one.recording_id
            for one in valid
            if one.recording_id >= first and (stream_id is None or (one.stream_id == stream_id and fragment in one.original_channel))
        ]
        listing = DescriptorListing(HEAD, first, count, stream_id=stream_id, channel_fragment=fragment.encode())
        found = []
        while listing.left > 0 and not listing.is_exhausted:
            listing.send(wire.publication, index, data)
            if listing.refusal or rng.random() < 0.5:
                found += ids_of(wire.take())
        found += ids_of(wire.take())
        assert found == twin[: max(count, 0)], (seed, first, count, stream_id, fragment)
        assert listing.is_exhausted == (count > len(twin))
        if listing.is_exhausted:
            assert listing.next_id == max(first, valid[-1].recording_id + 1)


def test_a_patient_call_goes_on_as_the_client_takes_what_was_sent_but_sends_256_descriptors_at_most(wire: ResponseWire) -> None:
    data = catalog_with(300)
    listing = DescriptorListing(HEAD, 0, 1000, patience=1 << 30)
    found: list[int] = []

    def has_taken_all() -> bool:
        found.extend(ids_of(wire.take()))
        return len(found) == 300

    taking = threading.Thread(target=lambda: wait_until(has_taken_all, "descriptors"))
    taking.start()
    assert [listing.send(wire.publication, indexed(data), data) for _ in range(3)] == [256, 44, 0]
    taking.join()
    assert found == list(range(300))


def test_patience_has_an_end(wire: ResponseWire) -> None:
    data = catalog_with(300)
    listing = DescriptorListing(HEAD, 0, 1000, patience=1000)
    sent = listing.send(wire.publication, indexed(data), data)
    assert (0 < sent < 256, listing.refusal) == (True, BACK_PRESSURED)
    assert ids_of(wire.take()) == list(range(sent))


def test_one_call_looks_at_4096_recordings_at_most(wire: ResponseWire) -> None:
    data = catalog_with(5000)
    data[-ENTRY_LENGTH + ENTRY_HEADER_LENGTH + 76] ^= 1  # the lowest byte of the last recording's stream id
    listing = DescriptorListing(HEAD, 0, 1000, stream_id=1000, channel_fragment=b"ipc")
    assert [listing.send(wire.publication, indexed(data), data) for _ in range(2)] == [4096, 904]
    assert ids_of(wire.take()) == [4999]


def test_a_blocked_listing_goes_on_where_it_was(wire: ResponseWire) -> None:
    data = catalog_with(500)
    index, listing = indexed(data), DescriptorListing(HEAD, 0, 500)
    found, blocked = [], 0
    while listing.left:
        listing.send(wire.publication, index, data)
        if listing.refusal:
            assert listing.refusal == BACK_PRESSURED
            found += ids_of(wire.take())
            blocked += 1
    assert found + ids_of(wire.take()) == list(range(500))
    assert blocked >= 3


def test_a_listing_of_one_recording_sends_no_other_one(wire: ResponseWire) -> None:
    data = catalog_with(3)
    index, listing = indexed(data), DescriptorListing(HEAD, 1, 1, end_id=2)
    index.remove(1)
    assert listing.send(wire.publication, index, data) == 0
    assert (listing.is_exhausted, listing.next_id, wire.take()) == (True, 1, [])


@pytest.mark.parametrize("length", [-1, 0, 79, ENTRY_LENGTH - ENTRY_HEADER_LENGTH + 1, 0x7FFFFFFF])
def test_an_entry_whose_length_cannot_be_ends_the_listing(wire: ResponseWire, length: int) -> None:
    data = catalog_with(3)
    index, listing = indexed(data), DescriptorListing(HEAD, 0, 10)
    at = HEADER_LENGTH + 2 * ENTRY_LENGTH
    data[at : at + 4] = (length & 0xFFFFFFFF).to_bytes(4, "little")
    assert listing.send(wire.publication, index, data) == 2
    assert (ids_of(wire.take()), listing.is_exhausted, listing.next_id) == ([0, 1], True, 2)


def test_an_index_of_other_bytes_reads_nothing_behind_them(wire: ResponseWire) -> None:
    data = catalog_with(3)
    listing = DescriptorListing(HEAD, 0, 10)
    assert listing.send(wire.publication, indexed(data), data[: -ENTRY_LENGTH + 8]) == 2
    assert (ids_of(wire.take()), listing.is_exhausted, listing.next_id) == ([0, 1], True, 2)


def test_a_descriptor_that_no_message_holds_is_an_error(wire: ResponseWire) -> None:
    data = catalog_with(1)
    data += encode_entry(entry(recording_id=1, stop_position=64, original_channel="aeron:ipc?alias=" + "a" * 9000), 64)
    listing = DescriptorListing(HEAD, 0, 10)
    with pytest.raises(MessageTooLongError, match="message is too long"):
        listing.send(wire.publication, indexed(data), data)
    assert (ids_of(wire.take()), listing.sent, listing.next_id) == ([0], 1, 1)


def test_a_closed_publication_is_an_error() -> None:
    other = ResponseWire()
    other.close()
    data = catalog_with(1)
    with pytest.raises(PublicationClosedError):
        DescriptorListing(HEAD, 0, 10).send(other.publication, indexed(data), data)
