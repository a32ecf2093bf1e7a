"""From which snapshots, and which part of the log behind them, a member recovers.

A plan needs what the archive knows of one recording, the log's. Files ask no archive: the caller does, for the recording that
`recording_of_plan` names, and hands over the extent. Aeron: RecordingLog.RecoveryPlan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from aerowire.base.errors import RecordingLogError
from aerowire.base.units import NULL_VALUE
from aerowire.cluster.files.snapshot_sets import Snapshot, consensus_module_snapshots, snapshot_set

if TYPE_CHECKING:
    from aerowire.cluster.files.recording_log_entry import RecordingLogEntry


class RecordingExtent(Protocol):
    """What an archive knows of a recording; its client's descriptor is one. `stop_position` is -1 while the recording goes on."""

    @property
    def start_position(self) -> int: ...
    @property
    def stop_position(self) -> int: ...
    @property
    def initial_term_id(self) -> int: ...
    @property
    def term_buffer_length(self) -> int: ...
    @property
    def mtu_length(self) -> int: ...
    @property
    def session_id(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """The recorded log: its last term, and the positions between which it is replayed. `log_position` is -1 where the term has no end."""

    recording_id: int
    leadership_term_id: int
    term_base_log_position: int
    log_position: int
    start_position: int
    stop_position: int
    initial_term_id: int
    term_buffer_length: int
    mtu_length: int
    session_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryPlan:
    """How a member recovers. `snapshots` has the consensus module's first, then those of the services; it may be empty.

    Everything up to `appended_log_position` is recorded; up to `committed_log_position` it is known to be committed.
    """

    last_leadership_term_id: int
    last_term_base_log_position: int
    appended_log_position: int
    committed_log_position: int
    snapshots: tuple[Snapshot, ...]
    log: Log | None


def recording_of_plan(entries: Sequence[RecordingLogEntry], replicated_recording_id: int = NULL_VALUE) -> int | None:
    """Return the recording whose extent a plan needs: the last valid term's, or without entries the replicated one; None for none."""
    if not entries:
        return None if replicated_recording_id == NULL_VALUE else replicated_recording_id
    term = _last_term(entries)
    return None if term is None else term.recording_id


def create_recovery_plan(
    entries: Sequence[RecordingLogEntry],
    service_count: int,
    extent: RecordingExtent | None,
    replicated_recording_id: int = NULL_VALUE,
) -> RecoveryPlan:
    """Return the plan for sorted entries; `extent` is that of `recording_of_plan`.

    Raises RecordingLogError where the archive does not know that recording, or there are snapshots but no complete set of them.
    """
    snapshots = _latest_set(entries, service_count)
    recording_id = recording_of_plan(entries, replicated_recording_id)
    log = None if recording_id is None else _log(entries, snapshots, recording_id, extent)
    last = log or (snapshots[0] if snapshots else None)
    committed = snapshots[0].log_position if snapshots else 0
    return RecoveryPlan(
        last_leadership_term_id=NULL_VALUE if last is None else last.leadership_term_id,
        last_term_base_log_position=0 if last is None else last.term_base_log_position,
        appended_log_position=committed if log is None else log.stop_position,
        committed_log_position=committed if log is None or log.log_position == NULL_VALUE else log.log_position,
        snapshots=snapshots,
        log=log,
    )


def _latest_set(entries: Sequence[RecordingLogEntry], service_count: int) -> tuple[Snapshot, ...]:
    indexes = consensus_module_snapshots(entries)
    for index in indexes:
        found = snapshot_set(entries, index, service_count)
        if found is not None:
            return found
    if indexes:
        raise RecordingLogError(
            "no set of snapshots is complete",
            where=f"log position {entries[indexes[0]].log_position}",
            expected=f"valid snapshots of {service_count} services before the consensus module's",
            actual=f"{len(indexes)} incomplete sets",
            hint="restore the snapshots, or invalidate those of the consensus module to recover from the log alone",
        )
    return ()


def _log(entries: Sequence[RecordingLogEntry], snapshots: tuple[Snapshot, ...], recording_id: int, extent: RecordingExtent | None) -> Log:
    if extent is None:
        raise RecordingLogError(
            "the archive does not know the recording of the log", expected="its extent", actual=f"recording {recording_id}"
        )
    term = _last_term(entries)
    return Log(
        recording_id=recording_id,
        leadership_term_id=NULL_VALUE if term is None else term.leadership_term_id,
        term_base_log_position=0 if term is None else term.term_base_log_position,
        log_position=0 if term is None else term.log_position,
        start_position=snapshots[0].log_position if snapshots else extent.start_position,
        stop_position=extent.stop_position,
        initial_term_id=extent.initial_term_id,
        term_buffer_length=extent.term_buffer_length,
        mtu_length=extent.mtu_length,
        session_id=extent.session_id,
    )


def _last_term(entries: Sequence[RecordingLogEntry]) -> RecordingLogEntry | None:
    return next((entry for entry in reversed(entries) if entry.is_valid_term), None)
