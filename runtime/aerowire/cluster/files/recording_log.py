"""recording.log: which terms the log of a cluster has had, and which snapshots of it there are.

    log = RecordingLog.open(cluster_dir, files, create=True, sync_level=1)
    log.append_term(recording_id, leadership_term_id, term_base_log_position, timestamp)
    log.commit_log_position(leadership_term_id, log_position)      # when the term has ended
    log.force()                                                    # as the level says; BEFORE what was written is relied on

`entries` are in the order in which they count (`RecordingLogEntry.sort_key`), the file has them in the order of writing. A change goes to
the file first and to memory once it has succeeded. `force` and `ensure_coherent` sync the file. Aeron: RecordingLog.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from aerowire.base.errors import ClusterFileError, RecordingLogError
from aerowire.base.units import NULL_VALUE
from aerowire.cluster.files.recording_log_entry import (
    CONSENSUS_MODULE_SERVICE_ID,
    ENTRY_ALIGNMENT,
    RecordingLogEntry,
    check_endpoint,
    decode_entries,
)
from aerowire.cluster.files.recovery_plan import RecoveryPlan, create_recovery_plan, recording_of_plan
from aerowire.cluster.files.snapshot_sets import Snapshot, latest_snapshot, latest_standby_snapshots, snapshot_at_or_before_or_lowest
from aerowire.cluster.files.updated_file import UpdatedFile
from aerowire.codecs.flyweights.cluster_files import RECORDING_LOG_FILE_NAME
from aerowire.codecs.flyweights.recording_log import ENTRY_TYPE_INVALID_FLAG, EntryType, RecordingLogEntryDecoder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aerowire.base.file_port import FilePort
    from aerowire.cluster.files.recovery_plan import RecordingExtent

FILE_LENGTH_MAX: Final = 1 << 26  # a million entries, where a snapshot of two services a minute makes as many in eight months
MISSING_TERMS_MAX: Final = 1 << 17  # a day and a half of failed elections, one a second: a leader tells of no more than there were
_LOG_POSITION_OFFSET = RecordingLogEntryDecoder.LOG_POSITION_OFFSET
_ENTRY_TYPE_OFFSET = RecordingLogEntryDecoder.ENTRY_TYPE_OFFSET


class RecordingLog:
    """An open recording log; made by `open`. One thread uses it.

    Invariant: `entries` are sorted, and all entries of terms name the same recording.
    """

    def __init__(self, path: Path, file: UpdatedFile) -> None:
        """Use `open`."""
        self.path = path
        self._file = file
        self._entries: list[RecordingLogEntry] = []
        self._terms: dict[int, RecordingLogEntry] = {}  # of valid entries, by leadership term id
        self._invalid_snapshots: list[int] = []  # entry indexes; the one that was invalidated last is restored first
        self._next_entry_index = 0
        self._end = 0
        self._is_end_doubtful = False  # whether a part of an entry stands behind the last one
        self._term_recording_id = NULL_VALUE

    @classmethod
    def open(cls, directory: Path, files: FilePort, *, create: bool = False, writable: bool = True, sync_level: int = 0) -> Self:
        """Open the recording log of a directory, or make it. Sync levels: 0 none, 1 data, 2 data and metadata, at each `force`.

        Raises ClusterFileError, MissingFileError, FileError.
        """
        path = directory / RECORDING_LOG_FILE_NAME
        is_new = create and not files.exists(path)
        log = cls(path, UpdatedFile(files, path, writable=writable, create=create, sync_level=sync_level))
        try:
            if is_new:
                files.sync_directory(directory)
            log.reload()
        except BaseException:
            log.close()
            raise
        return log

    @property
    def entries(self) -> Sequence[RecordingLogEntry]:
        """All entries but removed ones, in the order in which they count."""
        return self._entries

    @property
    def next_entry_index(self) -> int:
        """The index in the file of the next entry that is appended."""
        return self._next_entry_index

    @property
    def term_indexes(self) -> Mapping[int, int]:
        """Where in `entries` the valid term of a leadership term id is."""
        return {term_id: self._index_of(entry) for term_id, entry in self._terms.items()}

    def reload(self) -> None:
        """Read the file again. Raises ClusterFileError, FileError: then the log is as before."""
        length = self._file.length()
        if length > FILE_LENGTH_MAX:
            raise ClusterFileError(
                "the recording log is too long",
                where=f"{self.path}, offset {FILE_LENGTH_MAX}",
                expected=f"{FILE_LENGTH_MAX} bytes at most",
                actual=f"{length} bytes",
            )
        decoded = decode_entries(self._file.read(length), self.path)
        self._entries = sorted(decoded.entries, key=RecordingLogEntry.sort_key)
        self._next_entry_index, self._end = decoded.next_entry_index, decoded.end
        self._is_end_doubtful = decoded.end < length
        self._terms = {entry.leadership_term_id: entry for entry in self._entries if entry.is_valid_term}
        self._invalid_snapshots = [one.entry_index for one in self._entries if one.entry_type != EntryType.TERM and not one.is_valid]
        terms = (entry.recording_id for entry in self._entries if entry.entry_type == EntryType.TERM)
        self._term_recording_id = next(terms, self._term_recording_id)

    def force(self) -> None:
        """Sync what was written, as the level says. Raises FileError."""
        self._file.force()

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._file.close()

    # Terms

    def find_last_term(self) -> RecordingLogEntry | None:
        """Return the last valid term."""
        return next((entry for entry in reversed(self._entries) if entry.is_valid_term), None)

    def find_last_term_recording_id(self) -> int:
        """Return the recording of the last valid term, -1 without one."""
        entry = self.find_last_term()
        return NULL_VALUE if entry is None else entry.recording_id

    def find_term_entry(self, leadership_term_id: int) -> RecordingLogEntry | None:
        """Return the valid entry of a term."""
        return self._terms.get(leadership_term_id)

    def get_term_entry(self, leadership_term_id: int) -> RecordingLogEntry:
        """Return the valid entry of a term. Raises RecordingLogError."""
        entry = self._terms.get(leadership_term_id)
        if entry is None:
            raise self._refused("there is no valid entry of a term", f"one of {len(self._terms)} terms", leadership_term_id)
        return entry

    def get_term_timestamp(self, leadership_term_id: int) -> int:
        """Return when a term began, -1 for an unknown one."""
        entry = self._terms.get(leadership_term_id)
        return NULL_VALUE if entry is None else entry.timestamp

    def is_unknown(self, leadership_term_id: int) -> bool:
        """Return whether a term has no valid entry."""
        return leadership_term_id not in self._terms

    def append_term(self, recording_id: int, leadership_term_id: int, term_base_log_position: int, timestamp: int) -> None:
        """Add a term, which ends the one before it and, if it is added late, ends where the one behind it begins.

        Raises RecordingLogError where the term has a valid entry or the recording is not that of the other terms, FileError.
        """
        self._check_recording(recording_id)
        if self._term_recording_id not in (NULL_VALUE, recording_id):
            raise self._refused("all terms are of one recording", self._term_recording_id, recording_id)
        if leadership_term_id in self._terms:
            raise self._refused("a term has one valid entry", "a term without one", leadership_term_id)
        if leadership_term_id - 1 in self._terms:
            self.commit_log_position(leadership_term_id - 1, term_base_log_position)
        following = self._terms.get(leadership_term_id + 1)
        entry = RecordingLogEntry(
            recording_id=recording_id,
            leadership_term_id=leadership_term_id,
            term_base_log_position=term_base_log_position,
            log_position=NULL_VALUE if following is None else following.term_base_log_position,
            timestamp=timestamp,
            service_id=NULL_VALUE,
            entry_type=EntryType.TERM,
            entry_index=self._next_entry_index,
        )
        self._terms[leadership_term_id] = self._append(entry)
        self._term_recording_id = recording_id

    def commit_log_position(self, leadership_term_id: int, log_position: int) -> None:
        """Write where a term ends. Raises RecordingLogError for an unknown term, FileError."""
        entry = self.get_term_entry(leadership_term_id)
        if entry.log_position != log_position:
            self._file.update(entry.offset + _LOG_POSITION_OFFSET, log_position.to_bytes(8, "little", signed=True))
            self._terms[leadership_term_id] = self._replace(entry, replace(entry, log_position=log_position))

    def ensure_coherent(
        self,
        recording_id: int,
        *,
        initial_log_leadership_term_id: int,
        initial_term_base_log_position: int,
        leadership_term_id: int,
        term_base_log_position: int,
        log_position: int,
        timestamp: int,
    ) -> None:
        """Add a term and those missing before it, or complete the entry that it has; then sync. A `log_position` of -1 is not known.

        Terms that are missing are empty. Raises RecordingLogError where neither the last term has an end nor this one a beginning, or
        more than MISSING_TERMS_MAX are missing, FileError.
        """
        last = self.find_last_term()
        if last is None or last.leadership_term_id < leadership_term_id:
            first = max(0, initial_log_leadership_term_id) if last is None else last.leadership_term_id + 1
            if leadership_term_id - first > MISSING_TERMS_MAX:
                raise self._refused("too many terms are missing", f"{MISSING_TERMS_MAX} at most", leadership_term_id - first)
            base = initial_term_base_log_position if last is None else self._end_of(last, term_base_log_position)
            for term_id in range(first, leadership_term_id):
                self.append_term(recording_id, term_id, base, timestamp)
            self.append_term(recording_id, leadership_term_id, term_base_log_position if last is None else base, timestamp)
        if log_position != NULL_VALUE:
            self.commit_log_position(leadership_term_id, log_position)
        self._file.force()

    # Snapshots

    def get_latest_snapshot(self, service_id: int) -> RecordingLogEntry | None:
        """Return the snapshot of a service (-1: the consensus module) in the latest set that has it."""
        return latest_snapshot(self._entries, service_id)

    def latest_standby_snapshots(self, service_count: int) -> dict[str, tuple[RecordingLogEntry, ...]]:
        """Return the latest complete set in each standby node's archive, by endpoint; in a set the consensus module stands first."""
        return latest_standby_snapshots(self._entries, service_count)

    def find_snapshot_at_or_before_or_lowest(self, log_position: int, service_count: int) -> tuple[Snapshot, ...] | None:
        """Return the latest complete set at a position or before it, else the earliest one; None without any."""
        return snapshot_at_or_before_or_lowest(self._entries, log_position, service_count)

    def append_snapshot(
        self, recording_id: int, leadership_term_id: int, term_base_log_position: int, log_position: int, timestamp: int, service_id: int
    ) -> None:
        """Add a snapshot, in the place of an invalid one of the same service, term and position if there is one.

        A set is added by descending service id, the consensus module's LAST: with it the set counts. Raises RecordingLogError, FileError.
        """
        snapshot = Snapshot(
            recording_id=recording_id,
            leadership_term_id=leadership_term_id,
            term_base_log_position=term_base_log_position,
            log_position=log_position,
            timestamp=timestamp,
            service_id=service_id,
        )
        self._add_snapshot(snapshot, EntryType.SNAPSHOT, "")

    def append_standby_snapshot(
        self,
        recording_id: int,
        leadership_term_id: int,
        term_base_log_position: int,
        log_position: int,
        timestamp: int,
        service_id: int,
        archive_endpoint: str,
    ) -> None:
        """Add a snapshot in a standby node's archive, as `append_snapshot` does. Raises RecordingLogError, FileError.

        An invalid one is restored if it is of the same endpoint too; the official log fails to restore any.
        """
        check_endpoint(archive_endpoint)
        snapshot = Snapshot(
            recording_id=recording_id,
            leadership_term_id=leadership_term_id,
            term_base_log_position=term_base_log_position,
            log_position=log_position,
            timestamp=timestamp,
            service_id=service_id,
        )
        self._add_snapshot(snapshot, EntryType.STANDBY_SNAPSHOT, archive_endpoint)

    def invalidate_latest_snapshot(self) -> bool:
        """Invalidate the latest snapshots, those of standby nodes at the same position too; return whether there were any.

        Raises RecordingLogError where the term of such a snapshot is unknown, FileError.
        """
        ends: list[int] = []
        highest = NULL_VALUE
        for index in range(len(self._entries) - 1, -1, -1):
            entry = self._entries[index]
            is_end = entry.is_valid_any_snapshot and entry.service_id == CONSENSUS_MODULE_SERVICE_ID
            if not is_end or entry.log_position < highest:
                continue
            self.get_term_entry(entry.leadership_term_id)
            if entry.log_position > highest:
                highest, ends = entry.log_position, []
            ends.append(index)
        for end in reversed(ends):
            service_id = CONSENSUS_MODULE_SERVICE_ID
            for index in range(end, -1, -1):
                entry = self._entries[index]
                if not entry.is_valid_any_snapshot or entry.service_id != service_id:
                    break
                self.invalidate_entry(entry)
                service_id += 1
        return bool(ends)

    # Any entry

    def invalidate_entry(self, entry: RecordingLogEntry) -> None:
        """Let an entry of this log be no longer valid; it stays, and says what it was. Raises RecordingLogError, FileError."""
        index = self._index_of(entry)
        entry = self._entries[index]
        invalid_type = entry.entry_type | ENTRY_TYPE_INVALID_FLAG
        self._file.update(entry.offset + _ENTRY_TYPE_OFFSET, invalid_type.to_bytes(4, "little", signed=True))
        self._entries[index] = replace(entry, is_valid=False)
        if entry.entry_type != EntryType.TERM:
            if entry.is_valid:
                self._invalid_snapshots.append(entry.entry_index)
        elif self._terms.get(entry.leadership_term_id) == entry:
            del self._terms[entry.leadership_term_id]

    def remove_entry(self, leadership_term_id: int, entry_index: int) -> None:
        """Remove an entry, whose place stays empty. Raises RecordingLogError for an unknown one, ClusterFileError, FileError."""
        found = [one for one in self._entries if (one.leadership_term_id, one.entry_index) == (leadership_term_id, entry_index)]
        if not found:
            raise self._refused("there is no such entry", "an entry of the log", f"index {entry_index} in term {leadership_term_id}")
        # An entry that is longer than others is removed as several: readers pass over 64 bytes of a removed one.
        data = bytearray(found[0].encode())
        for offset in range(_ENTRY_TYPE_OFFSET, len(data), ENTRY_ALIGNMENT):
            data[offset : offset + 4] = EntryType.REMOVED.to_bytes(4, "little", signed=True)
        self._file.update(found[0].offset, bytes(data))
        self.reload()

    # Recovery

    def recording_of_plan(self, replicated_recording_id: int = NULL_VALUE) -> int | None:
        """Return the recording whose extent `create_recovery_plan` needs from the archive; None for none."""
        return recording_of_plan(self._entries, replicated_recording_id)

    def create_recovery_plan(
        self, service_count: int, extent: RecordingExtent | None, replicated_recording_id: int = NULL_VALUE
    ) -> RecoveryPlan:
        """Return from which snapshots and which part of the log a member recovers; `extent` is that of `recording_of_plan`.

        Raises RecordingLogError where the archive does not know that recording, or no set of snapshots is complete.
        """
        return create_recovery_plan(self._entries, service_count, extent, replicated_recording_id)

    def _add_snapshot(self, snapshot: Snapshot, entry_type: EntryType, archive_endpoint: str) -> None:
        self._check_recording(snapshot.recording_id)
        entry = RecordingLogEntry(
            **{name: getattr(snapshot, name) for name in Snapshot.__slots__},
            entry_type=entry_type,
            entry_index=self._next_entry_index,
            archive_endpoint=archive_endpoint,
        )
        by_index = {one.entry_index: one for one in self._entries if not one.is_valid}
        for entry_index in reversed(self._invalid_snapshots):
            invalid = by_index[entry_index]
            restored = replace(entry, entry_index=entry_index, offset=invalid.offset)
            if replace(restored, recording_id=invalid.recording_id, timestamp=invalid.timestamp, is_valid=False) == invalid:
                self._file.update(invalid.offset, restored.encode())
                self._replace(invalid, restored)
                self._invalid_snapshots.remove(entry_index)
                return
        self._append(entry)

    def _append(self, entry: RecordingLogEntry) -> RecordingLogEntry:
        """Write an entry behind the last one; return it with its offset."""
        if self._is_end_doubtful:
            self._file.truncate(self._end)
        entry = replace(entry, offset=self._end)
        self._is_end_doubtful = True
        self._file.write_all(entry.offset, entry.encode())
        self._is_end_doubtful = False
        self._entries.insert(bisect_right(self._entries, entry.sort_key(), key=RecordingLogEntry.sort_key), entry)
        self._next_entry_index += 1
        self._end += entry.length
        return entry

    def _end_of(self, last: RecordingLogEntry, term_base_log_position: int) -> int:
        """Return where the last term ends, which is written if it is where the next one begins."""
        if last.log_position != NULL_VALUE:
            return last.log_position
        if term_base_log_position == NULL_VALUE:
            raise self._refused(
                "the last term has no end, and the next one no beginning", "a term base log position", f"{NULL_VALUE} behind {last}"
            )
        self.commit_log_position(last.leadership_term_id, term_base_log_position)
        return term_base_log_position

    def _index_of(self, entry: RecordingLogEntry) -> int:
        # From the end: it is the last term that ends, also where many are added at once.
        for index in range(len(self._entries) - 1, -1, -1):
            if self._entries[index].entry_index == entry.entry_index:
                return index
        raise self._refused("there is no such entry", "an entry of the log", entry)

    def _replace(self, entry: RecordingLogEntry, other: RecordingLogEntry) -> RecordingLogEntry:
        self._entries[self._index_of(entry)] = other
        return other

    def _check_recording(self, recording_id: int) -> None:
        if recording_id < 0:
            raise self._refused("an entry needs a recording", "a recording id", recording_id)

    def _refused(self, what: str, expected: object, actual: object) -> RecordingLogError:
        return RecordingLogError(what, where=self.path, expected=expected, actual=actual)
