"""The directory of a member as its files tell of it, without its processes: for tools. Nothing is locked or waited for.

What changes recording.log here replaces the whole file, and is for members that do not run. Aeron: ClusterToolOperator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from aerowire.archive.files.update_record import record_path
from aerowire.base.errors import ClusterFileError
from aerowire.cluster.files.mark_header import ClusterMarkHeader, mark_kind
from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.cluster.files.recording_log_entry import CONSENSUS_MODULE_SERVICE_ID, RecordingLogEntry
from aerowire.codecs.flyweights.cluster_files import RECORDING_LOG_FILE_NAME, SERVICE_MARK_FILE_NAME, SERVICE_MARK_LINK_FILE_NAME
from aerowire.codecs.flyweights.cluster_mark import ClusterComponentType
from aerowire.codecs.flyweights.cnc import ClusterCounterKeyDecoder, ClusterRole, ElectionState
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from pathlib import Path

    from aerowire.base.file_port import FilePort
    from aerowire.ipc.counters import CountersReader

BACKUP_SUFFIX: Final = ".bak"
_NEW_SUFFIX = ".tmp"


@dataclass(frozen=True, slots=True)
class MarkFileState:
    """A mark file: where it is, its header, and the bytes of its error log."""

    path: Path
    header: ClusterMarkHeader
    error_log: bytes


@dataclass(frozen=True, slots=True)
class MemberDirectory:
    """The mark files of a member: its consensus module's or backup's, and those of services by ascending id."""

    component: MarkFileState
    services: tuple[MarkFileState, ...]

    @property
    def pid(self) -> int:
        """The process of the consensus module or backup."""
        return self.component.header.pid


def describe_member(files: FilePort, cluster_directory: Path) -> MemberDirectory:
    """Return the mark files of a member, whose links are followed. Raises ClusterFileError, MissingFileError, FileError."""
    component = _state(files, cluster_directory, ClusterComponentType.CONSENSUS_MODULE)
    services = cluster_directory / component.header.services_cluster_dir
    if not files.exists(services):  # the directory was moved, or copied from elsewhere
        services = cluster_directory
    states = (_state(files, services, ClusterComponentType.CONTAINER, number) for number in service_ids(files, services))
    return MemberDirectory(component, tuple(states))


def service_ids(files: FilePort, directory: Path) -> list[int]:
    """Return the ids of services that have a mark file, or a link to one, in a directory; ascending. Raises FileError."""
    found = set()
    for name in files.names(directory):
        for pattern in (SERVICE_MARK_FILE_NAME, SERVICE_MARK_LINK_FILE_NAME):
            start, end = pattern.split("{service_id}")
            digits = name.removeprefix(start).removesuffix(end)
            if digits.isascii() and digits.isdigit() and pattern.format(service_id=int(digits)) == name:
                found.add(int(digits))
    return sorted(found)


def is_leader(counters: CountersReader, cluster_id: int) -> bool:
    """Return whether a member leads its cluster and its election has ended, as the counters of its driver tell."""
    values = {
        info.type_id: info.value
        for info in counters.for_each()
        if info.type_id in (CounterType.CLUSTER_NODE_ROLE, CounterType.CLUSTER_ELECTION_STATE)
        and len(info.key) >= ClusterCounterKeyDecoder.ENCODED_LENGTH
        and ClusterCounterKeyDecoder(info.key).cluster_id == cluster_id
    }
    return (values.get(CounterType.CLUSTER_NODE_ROLE), values.get(CounterType.CLUSTER_ELECTION_STATE)) == (
        ClusterRole.LEADER,
        ElectionState.CLOSED,
    )


def sort_recording_log(files: FilePort, directory: Path) -> bool:
    """Write recording.log anew with its entries as they count, removed ones left out; False if it has them so already.

    Raises ClusterFileError, MissingFileError, FileError.
    """
    entries = _entries(files, directory)
    if [entry.entry_index for entry in entries] == list(range(len(entries))):
        return False
    _replace(files, directory, entries)
    return True


def seed_recording_log_from_snapshot(files: FilePort, directory: Path) -> int:
    """Let recording.log hold the latest snapshots alone, as taken at position 0: for a cluster that begins anew with their state.

    The former file stays beside it, with `BACKUP_SUFFIX`. Without a snapshot there is no recording.log then. Returns how many snapshots
    it holds. Raises ClusterFileError, MissingFileError, FileError.
    """
    entries = _entries(files, directory)
    kept: list[RecordingLogEntry] = []
    for entry in reversed(entries):
        if entry.is_valid_snapshot and entry.service_id == CONSENSUS_MODULE_SERVICE_ID + len(kept):
            kept.append(replace(entry, term_base_log_position=0, log_position=0))
        elif kept:
            break
    _back_up(files, directory / RECORDING_LOG_FILE_NAME)
    _replace(files, directory, kept[::-1])
    return len(kept)


def _state(files: FilePort, directory: Path, component_type: ClusterComponentType, service_id: int = -1) -> MarkFileState:
    kind = mark_kind(component_type, service_id)
    path = kind.path(files, directory)
    header, error_log = kind.read(files, path)
    is_service = header.component_type == ClusterComponentType.CONTAINER
    if is_service != (component_type == ClusterComponentType.CONTAINER):
        raise ClusterFileError(
            "the mark file is of another component",
            where=f"{path}, offset {header.offset}",
            expected="a service" if component_type == ClusterComponentType.CONTAINER else "a consensus module or a backup",
            actual=header.component_type.name,
        )
    return MarkFileState(path, header, error_log)


def _entries(files: FilePort, directory: Path) -> Sequence[RecordingLogEntry]:
    log = RecordingLog.open(directory, files, writable=False)
    log.close()
    return log.entries


def _back_up(files: FilePort, path: Path) -> None:
    backup = path.with_name(path.name + BACKUP_SUFFIX)
    with files.open(path) as source, files.open(backup, writable=True, create=True) as copy:
        copy.truncate(0)
        copy.write_all(0, source.read(0, source.length()))
        copy.sync()
    files.sync_directory(path.parent)


def _replace(files: FilePort, directory: Path, entries: Sequence[RecordingLogEntry]) -> None:
    """Let a recording log with these entries, in this order, take the place of the one there is; without entries, none."""
    path = directory / RECORDING_LOG_FILE_NAME
    if entries:
        new = path.with_name(path.name + _NEW_SUFFIX)
        with files.open(new, writable=True, create=True) as file:
            file.truncate(0)
            file.write_all(0, b"".join(entry.encode() for entry in entries))
            file.sync()
        files.rename(new, path)
    else:
        files.delete(path)
    files.delete(record_path(path))  # of the file that is gone
    files.sync_directory(directory)
