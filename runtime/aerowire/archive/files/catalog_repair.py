"""The repair of a catalog that is opened again: what a crash may have left of entries and updates, set right and reported.

A power failure may lose what was not synced, in part: an entry may be torn, one before it may be missing, and the next recording id may
be behind. An incomplete last entry is removed; in the midst of others it is marked as deleted, so that they keep their places. An entry
that is complete and cannot be all the same is marked as invalid, and keeps its bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.archive.files.finding import Finding
from aerowire.base.errors import ArchiveFileError
from aerowire.codecs.flyweights.archive import (
    CatalogHeaderDecoder,
    RecordingDescriptorEncoder,
    RecordingDescriptorHeaderDecoder,
    RecordingDescriptorHeaderEncoder,
    RecordingState,
)
from aerowire.recordings.catalog_entry import ENTRY_LENGTH_MIN, RecordingEntry, decode_entry
from aerowire.recordings.catalog_layout import ENTRY_HEADER_LENGTH

if TYPE_CHECKING:
    from aerowire.archive.files.catalog_file import CatalogFile
    from aerowire.archive.files.catalog_index import CatalogIndex, CatalogScan
    from aerowire.recordings.catalog_layout import CatalogHeader

_NOT_A_RECORDING = -1
_FIXED_LENGTH = ENTRY_HEADER_LENGTH + ENTRY_LENGTH_MIN
_ID_OFFSET = CatalogHeaderDecoder.NEXT_RECORDING_ID_ENCODING_OFFSET
_ID_LENGTH = CatalogHeaderDecoder.NEXT_RECORDING_ID_ENCODING_LENGTH


def repair_catalog(file: CatalogFile, header: CatalogHeader, index: CatalogIndex, scan: CatalogScan) -> tuple[int, list[Finding]]:
    """Repair what a scan found in an open catalog; return where the next entry goes, and what was done.

    Raises FileError, ArchiveFileError where bytes between entries are too few for one.
    """
    path = str(file.path)
    findings: list[Finding] = []
    pieces: list[tuple[int, bytes | bytearray]] = []
    end = scan.end
    suspects = [decode_entry(file.data, offset, _end_of(file, offset)) for offset in scan.suspects]
    while suspects and _end_of(file, suspects[-1].catalog_offset) == end and _is_incomplete(suspects[-1]):
        end = suspects.pop().catalog_offset
        findings.append(Finding(path, end, f"the last entry is incomplete, {scan.end - end} bytes; removed"))
    for entry in suspects:
        has_own_id = 0 <= entry.recording_id < header.next_recording_id and index.offset_of(entry.recording_id) < 0
        if has_own_id and not _is_incomplete(entry):
            pieces.append((entry.catalog_offset, _marked(file, entry, RecordingState.INVALID, entry.recording_id)))
            text = f"the entry cannot be: {entry.damage or 'its id is out of order'}; marked as invalid"
            findings.append(Finding(path, entry.catalog_offset, text, entry.recording_id))
        else:
            pieces.append((entry.catalog_offset, _marked(file, entry, RecordingState.DELETED, _NOT_A_RECORDING)))
            findings.append(Finding(path, entry.catalog_offset, "the entry is incomplete or out of order; marked as deleted"))
    for offset, length in scan.gaps:
        if length < _FIXED_LENGTH:
            raise ArchiveFileError(
                "the catalog is damaged",
                where=f"{path}, offset {offset}",
                expected="an entry",
                actual=f"{length} bytes before the next one",
            )
        pieces.append((offset, _filler(length)))
        findings.append(Finding(path, offset, f"{length} bytes are no entry, but others follow; made one that is deleted"))
    if any(memoryview(file.data)[end:]):
        behind = len(file.data) - end
        pieces.append((end, bytes(behind)))
        if end == scan.end:
            findings.append(Finding(path, end, f"{behind} bytes behind the last entry are not all zeros, as they should be; cleared"))
    if header.next_recording_id <= scan.last_recording_id:
        pieces.append((_ID_OFFSET, (scan.last_recording_id + 1).to_bytes(_ID_LENGTH, "little")))
        text = f"the next recording id is {header.next_recording_id}, but the last one is {scan.last_recording_id}; set to follow it"
        findings.append(Finding(path, _ID_OFFSET, text))
    if pieces:
        file.write(*pieces, is_repair=True)
    return end, findings


def _end_of(file: CatalogFile, offset: int) -> int:
    return offset + ENTRY_HEADER_LENGTH + RecordingDescriptorHeaderDecoder().wrap(file.data, offset).length


def _is_incomplete(entry: RecordingEntry) -> bool:
    """Return whether a part of an entry is missing: there are zeros in the place of what no entry is without."""
    texts = (entry.stripped_channel, entry.original_channel, entry.source_identity)
    lengths = (entry.term_buffer_length, entry.segment_file_length, entry.mtu_length)
    return not all(lengths) or not all(texts) or any("\0" in text for text in texts)


def _marked(file: CatalogFile, entry: RecordingEntry, state: RecordingState, recording_id: int) -> bytearray:
    """Return header and descriptor of an entry with another state, and an id that no other recording has."""
    data = file.data[entry.catalog_offset : entry.catalog_offset + _FIXED_LENGTH]
    RecordingDescriptorHeaderEncoder().wrap(data).state = state
    RecordingDescriptorEncoder().wrap(data, ENTRY_HEADER_LENGTH).recording_id = recording_id
    return data


def _filler(length: int) -> bytearray:
    """Return an entry of a length that is deleted and has no texts."""
    data = bytearray(length)
    header = RecordingDescriptorHeaderEncoder().wrap(data)
    header.length, header.state = length - ENTRY_HEADER_LENGTH, RecordingState.DELETED
    RecordingDescriptorEncoder().wrap(data, ENTRY_HEADER_LENGTH).recording_id = _NOT_A_RECORDING
    return data
