"""node-state.dat: what a member must not forget about its votes, whatever ends it.

    version (i32) | padding | candidate term: header, term id, timestamp, log position | footer: header | zeros up to 1 MiB

Records follow each other, aligned to 8 bytes, until the footer; those of other kinds, which older versions wrote, are left alone.
A candidate term is in the file BEFORE a vote or a request for votes that names it leaves the member. Aeron: NodeStateFile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from aerowire.base.errors import ClusterFileError
from aerowire.base.units import NULL_VALUE
from aerowire.cluster.files.updated_file import UpdatedFile
from aerowire.codecs.flyweights.base import align
from aerowire.codecs.flyweights.cluster_files import CLUSTER_FILE_VERSION, NODE_STATE_FILE_LENGTH, NODE_STATE_FILE_NAME
from aerowire.codecs.flyweights.cluster_node_state import (
    CandidateTermDecoder,
    CandidateTermEncoder,
    MessageHeaderDecoder,
    MessageHeaderEncoder,
    NodeStateFooterEncoder,
    NodeStateHeaderDecoder,
    NodeStateHeaderEncoder,
)
from aerowire.recordings.versions import major_version, version_text

if TYPE_CHECKING:
    from aerowire.base.file_port import FilePort

_NEW_SUFFIX = ".new"
_FILE_HEADER_LENGTH = NodeStateHeaderDecoder.SBE_BLOCK_LENGTH
_HEADER_LENGTH = MessageHeaderDecoder.ENCODED_LENGTH
_ALIGNMENT = 8
_CANDIDATE_TERM = CandidateTermDecoder.SBE_TEMPLATE_ID
_FOOTER = NodeStateFooterEncoder.SBE_TEMPLATE_ID


@dataclass(frozen=True, slots=True)
class CandidateTerm:
    """The latest term that the member stood or voted in, when, and how far its log went then; -1 for none."""

    candidate_term_id: int
    log_position: int
    timestamp: int


class NodeStateFile:
    """The open node state of a member; made by `open`. One thread uses it.

    Sync levels: 0 leaves it to the system when a candidate term reaches the disk, 1 syncs data at each update, 2 data and metadata.
    """

    def __init__(self, path: Path, file: UpdatedFile, offset: int, candidate_term: CandidateTerm) -> None:
        """Use `open`."""
        self.path = path
        self._file = file
        self._offset = offset  # of the candidate term's fields
        self._candidate_term = candidate_term

    @classmethod
    def open(cls, directory: Path, files: FilePort, *, create: bool = False, writable: bool = True, sync_level: int = 0) -> Self:
        """Open the node state of a directory, or make it. Raises ClusterFileError, MissingFileError, FileError.

        A new file appears under its name when it is complete, and is synced then at every level: a member that has voted and lost the
        file would vote again.
        """
        path = directory / NODE_STATE_FILE_NAME
        if create and not files.exists(path):
            _create(files, path)
        file = UpdatedFile(files, path, writable=writable, create=False, sync_level=sync_level)
        try:
            offset, candidate_term = _decode(file.read(NODE_STATE_FILE_LENGTH), path)
            if writable:
                file.force()
        except BaseException:
            file.close()
            raise
        return cls(path, file, offset, candidate_term)

    @property
    def candidate_term(self) -> CandidateTerm:
        return self._candidate_term

    def update_candidate_term_id(self, candidate_term_id: int, log_position: int, timestamp: int) -> None:
        """Store a candidate term, and sync it as the level says. Raises FileError: then the file may have it or not."""
        fields, start = CandidateTermDecoder, self._offset
        self._file.write_all(start + fields.LOG_POSITION_ENCODING_OFFSET, log_position.to_bytes(8, "little", signed=True))
        self._file.write_all(start + fields.TIMESTAMP_ENCODING_OFFSET, timestamp.to_bytes(8, "little", signed=True))
        # The term LAST, and whole: with it the other two count.
        self._file.update(start + fields.CANDIDATE_TERM_ID_ENCODING_OFFSET, candidate_term_id.to_bytes(8, "little", signed=True))
        self._file.force()
        self._candidate_term = CandidateTerm(candidate_term_id, log_position, timestamp)

    def propose_max_candidate_term_id(self, candidate_term_id: int, log_position: int, timestamp: int) -> int:
        """Store a candidate term that is greater than the stored one; return the one that is stored then. Raises FileError."""
        if candidate_term_id > self._candidate_term.candidate_term_id:
            self.update_candidate_term_id(candidate_term_id, log_position, timestamp)
        return self._candidate_term.candidate_term_id

    def take_over_candidate_term_id(self, candidate_term_id: int, timestamp: int) -> bool:
        """Store the candidate term of an older version's mark file, where none is stored; return whether one was. Raises FileError."""
        if self._candidate_term.candidate_term_id != NULL_VALUE or candidate_term_id == NULL_VALUE:
            return False
        self.update_candidate_term_id(candidate_term_id, NULL_VALUE, timestamp)
        return True

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._file.close()


def _create(files: FilePort, path: Path) -> None:
    new = path.with_name(path.name + _NEW_SUFFIX)
    with files.open(new, writable=True, create=True) as file:
        file.truncate(0)
        file.truncate(NODE_STATE_FILE_LENGTH)
        file.write_all(0, _new_content())
        file.sync()
    files.rename(new, path)
    files.sync_directory(path.parent)


def _new_content() -> bytes:
    candidate_term_length = _HEADER_LENGTH + CandidateTermEncoder.SBE_BLOCK_LENGTH
    footer_offset = _FILE_HEADER_LENGTH + align(candidate_term_length, _ALIGNMENT)
    footer_length = _HEADER_LENGTH + NodeStateFooterEncoder.SBE_BLOCK_LENGTH
    data = bytearray(footer_offset + footer_length)
    NodeStateHeaderEncoder().wrap(data).version = CLUSTER_FILE_VERSION
    term = CandidateTermEncoder().wrap_and_apply_header(data, _FILE_HEADER_LENGTH)
    term.log_position = term.timestamp = term.candidate_term_id = NULL_VALUE
    MessageHeaderEncoder().wrap(data, _FILE_HEADER_LENGTH).frame_length = candidate_term_length
    NodeStateFooterEncoder().wrap_and_apply_header(data, footer_offset)
    MessageHeaderEncoder().wrap(data, footer_offset).frame_length = footer_length
    return bytes(data)


def _decode(data: bytes, path: Path) -> tuple[int, CandidateTerm]:
    """Return where the fields of the candidate term are, and their values. Raises ClusterFileError."""
    if len(data) < _FILE_HEADER_LENGTH:
        raise _damaged(path, 0, f"{_FILE_HEADER_LENGTH} bytes at least", f"{len(data)} bytes")
    version = NodeStateHeaderDecoder().wrap(data).version
    if major_version(version) != major_version(CLUSTER_FILE_VERSION):
        raise ClusterFileError(
            "the node state is of another version",
            where=f"{path}, offset 0",
            expected=f"{version_text(CLUSTER_FILE_VERSION)} or another {major_version(CLUSTER_FILE_VERSION)}.x",
            actual=version_text(version),
        )
    found = -1
    end = _FILE_HEADER_LENGTH
    for offset, header in _records(data, path):
        end = offset
        if header.template_id == _CANDIDATE_TERM and found < 0:
            found = offset
            least = _HEADER_LENGTH + CandidateTermDecoder.SBE_BLOCK_LENGTH
            if header.block_length < CandidateTermDecoder.SBE_BLOCK_LENGTH or header.frame_length < least:
                actual = f"a block of {header.block_length} in a record of {header.frame_length} bytes"
                raise _damaged(path, offset, f"a candidate term of {least} bytes at least", actual)
    if found < 0:
        raise _damaged(path, end, "a candidate term before the footer", "none")
    term = CandidateTermDecoder().wrap(data, found + _HEADER_LENGTH)
    return found + _HEADER_LENGTH, CandidateTerm(term.candidate_term_id, term.log_position, term.timestamp)


def _records(data: bytes, path: Path) -> Iterator[tuple[int, MessageHeaderDecoder]]:
    """Yield offset and header of each record, the footer as the last one. Raises ClusterFileError where there is none."""
    offset = _FILE_HEADER_LENGTH
    while True:
        if offset > len(data) - _HEADER_LENGTH:
            raise _damaged(path, offset, "the footer of the records", "the end of the file")
        header = MessageHeaderDecoder().wrap(data, offset)
        if header.schema_id != CandidateTermDecoder.SBE_SCHEMA_ID:
            raise _damaged(path, offset, f"a record of schema {CandidateTermDecoder.SBE_SCHEMA_ID}", f"schema {header.schema_id}")
        if not _HEADER_LENGTH <= header.frame_length <= len(data) - offset:
            raise _damaged(path, offset, f"a record of {_HEADER_LENGTH} to {len(data) - offset} bytes", header.frame_length)
        yield offset, header
        if header.template_id == _FOOTER:
            return
        offset += align(header.frame_length, _ALIGNMENT)


def _damaged(path: Path, offset: int, expected: str, actual: object) -> ClusterFileError:
    return ClusterFileError("the node state is damaged", where=f"{path}, offset {offset}", expected=expected, actual=actual)
