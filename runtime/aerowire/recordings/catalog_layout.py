"""The bytes of a catalog: its header, and where its entries are.

    archive.catalog:  header (32 bytes) | entry | entry | ... | zeros up to the capacity
    entry:            header (32 bytes: length of the rest, state, checksum) | descriptor (80 bytes) | 3 x (u32 length, text) | padding

An entry without a length ends the catalog. Catalogs older than version 3 have no alignment in their header, and slots of 1,024 bytes, of
which the header takes the first. Aeron: Catalog.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from aerowire.codecs.flyweights.archive import CatalogHeaderDecoder, CatalogHeaderEncoder, RecordingDescriptorHeaderDecoder
from aerowire.codecs.flyweights.archive_files import CATALOG_ALIGNMENT, CATALOG_LEGACY_ENTRY_LENGTH, CATALOG_VERSION
from aerowire.recordings.catalog_entry import ENTRY_LENGTH_MIN

if TYPE_CHECKING:
    from typing_extensions import Buffer

CATALOG_HEADER_LENGTH: Final = CatalogHeaderDecoder.SBE_BLOCK_LENGTH
ENTRY_HEADER_LENGTH: Final = RecordingDescriptorHeaderDecoder.SBE_BLOCK_LENGTH


@dataclass(frozen=True, slots=True)
class CatalogHeader:
    """The first bytes of a catalog. An `alignment` of 0 means slots of the legacy form."""

    version: int = CATALOG_VERSION
    length: int = CATALOG_HEADER_LENGTH
    next_recording_id: int = 0
    alignment: int = CATALOG_ALIGNMENT

    @classmethod
    def decode(cls, data: Buffer) -> CatalogHeader:
        """Read a header; `data` has CATALOG_HEADER_LENGTH bytes at least."""
        decoder = CatalogHeaderDecoder().wrap(data)
        return cls(decoder.version, decoder.length, decoder.next_recording_id, decoder.alignment)

    def encode(self) -> bytes:
        data = bytearray(CATALOG_HEADER_LENGTH)
        encoder = CatalogHeaderEncoder().wrap(data)
        encoder.version, encoder.length, encoder.alignment = self.version, self.length, self.alignment
        encoder.next_recording_id = self.next_recording_id
        return bytes(data)

    @property
    def is_legacy(self) -> bool:
        return self.alignment == 0

    @property
    def first_entry_offset(self) -> int:
        return CATALOG_LEGACY_ENTRY_LENGTH if self.is_legacy else CATALOG_HEADER_LENGTH

    def entry_end(self, offset: int, length: int) -> int:
        """Return where an entry ends that begins at an offset and has `length` bytes behind its header, its padding among them."""
        return offset + (CATALOG_LEGACY_ENTRY_LENGTH if self.is_legacy else ENTRY_HEADER_LENGTH + length)


class EntryPlace(NamedTuple):
    """Where an entry is in a catalog, or what ends the catalog early: then `problem` says what, and `end` is the end of the data."""

    offset: int
    end: int
    problem: str | None = None


def entry_places(data: Buffer, header: CatalogHeader) -> Iterator[EntryPlace]:
    """Yield the places of the entries up to the end of the catalog, or to a length that cannot be an entry's."""
    view = memoryview(data)
    offset = header.first_entry_offset
    while offset + ENTRY_HEADER_LENGTH <= len(view):
        length = RecordingDescriptorHeaderDecoder().wrap(view, offset).length
        if length == 0:
            return
        end = header.entry_end(offset, length)
        if length < ENTRY_LENGTH_MIN or end > len(view):
            room = len(view) - offset - ENTRY_HEADER_LENGTH
            yield EntryPlace(offset, len(view), f"catalog entry of {length} bytes, expected {ENTRY_LENGTH_MIN} to {room}")
            return
        yield EntryPlace(offset, end)
        offset = end
