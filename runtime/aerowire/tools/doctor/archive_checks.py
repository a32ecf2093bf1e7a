"""Judges an archive: is its directory sound, is there room, does it record what it should? Pure: its state in, findings out."""

from __future__ import annotations

from aerowire.base.text import printable
from aerowire.tools.doctor.archive_state import DAMAGED, RUNNING, STALE, ArchiveState
from aerowire.tools.doctor.doctor_checks import Finding, Level
from aerowire.tools.terminal.figures import size_text

# Segment files that there should be room for, beyond what keeps recordings from beginning.
_SEGMENTS_OF_ROOM = 10
_NAMED_MAX = 5


def check_archive(
    state: ArchiveState, standing: list[int] | None, *, threshold: int, sync_level: int, has_checksums: bool
) -> list[Finding]:
    """Return what all checks of an archive find.

    `standing` are recordings that stand still, None where that was not looked at; `threshold`, `sync_level` and `has_checksums` are what
    options say of low storage, of durability, and of the checksums of what is recorded from now on.
    """
    findings = [_check_mark(state), _check_room(state, threshold), _check_catalog(state)]
    if state.mark == RUNNING and standing is not None:
        findings.append(_check_recordings(state, standing))
    findings.append(_check_durability(sync_level, has_checksums=has_checksums or state.has_checksums))
    if state.error_count:
        found = f"{_at(state)}: {state.error_count} distinct"
        findings.append(Finding("archive errors", Level.NOTE, found, f"aerowire errors --archive {state.path} shows them"))
    return findings


def _check_mark(state: ArchiveState) -> Finding:
    what, process = "archive", "" if state.pid is None else f", pid {state.pid}"
    found = f"{_at(state)}: {state.mark}{process}"
    if state.mark == STALE:
        return Finding(what, Level.WARNING, found, f"its process has ended: aerowire archive unlock {state.path} lets others in")
    if state.mark == DAMAGED:
        return Finding(what, Level.PROBLEM, f"{found}: {state.problem}", f"aerowire archive repair {state.path} moves the mark file aside")
    return Finding(what, Level.GOOD, found)


def _check_room(state: ArchiveState, threshold: int) -> Finding:
    what, found = "archive storage", f"{size_text(state.free)} free at {_at(state)}, threshold {size_text(threshold)}"
    advice = f"free space, or remove what is old: aerowire archive retention {state.path} --keep 30d"
    if state.free <= threshold:
        return Finding(what, Level.PROBLEM, f"{found}: no recording begins", advice)
    if state.free - threshold < _SEGMENTS_OF_ROOM * state.segment_length:
        return Finding(what, Level.WARNING, f"{found}: room for fewer than {_SEGMENTS_OF_ROOM} segment files", advice)
    return Finding(what, Level.GOOD, found)


def _check_catalog(state: ArchiveState) -> Finding:
    what, found = "archive catalog", f"{state.recordings} recordings"
    problems = []
    if state.problem is not None and state.mark != DAMAGED:
        problems.append(state.problem)
    if state.incomplete:
        problems.append(f"segment files are missing of {_named(state.incomplete)}")
    if state.unfinished:
        problems.append(f"their archive died before it stopped {_named(state.unfinished)}")
    if not problems:
        return Finding(what, Level.GOOD, found)
    is_worse = bool(state.incomplete) or state.problem is not None
    advice = f"aerowire archive repair {state.path} tells what is lost" + ("" if is_worse else "; an archive that starts repairs it, too")
    return Finding(what, Level.PROBLEM if is_worse else Level.WARNING, "; ".join([found, *problems]), advice)


def _check_recordings(state: ArchiveState, standing: list[int]) -> Finding:
    what = "archive recordings"
    if not standing:
        return Finding(what, Level.GOOD, "none stands still while its stream moves")
    advice = f"look at aerowire errors --archive {state.path}, at the disk, and at aerowire streams"
    return Finding(what, Level.PROBLEM, f"streams move and their recordings stand still: {_named(standing)}", advice)


def _check_durability(sync_level: int, *, has_checksums: bool) -> Finding:
    what, sealed = "archive durability", "with checksums" if has_checksums else "without checksums"
    found = f"file sync level {sync_level}, {sealed}"
    if sync_level > 0:
        return Finding(what, Level.GOOD, found)
    advice = "a power failure may take the last seconds of recordings: -Daeron.archive.file.sync.level=1 syncs before positions count"
    if not has_checksums:
        advice += "; -Daeron.archive.record.checksum=org.agrona.checksum.Crc32c lets a torn end be told from a whole one"
    return Finding(what, Level.NOTE, found, advice)


def _named(recording_ids: list[int]) -> str:
    shown = ", ".join(map(str, recording_ids[:_NAMED_MAX]))
    more = len(recording_ids) - _NAMED_MAX
    return f"recording{'s' * (len(recording_ids) > 1)} {shown}" + (f" and {more} more" if more > 0 else "")


def _at(state: ArchiveState) -> str:
    return printable(state.path)
