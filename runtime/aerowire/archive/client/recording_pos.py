"""The counters by which an archive tells how far each of its recordings has come. Aeron: RecordingPos.

Such a counter is on the archive's own driver, while the recording goes on; its value is the position up to which it is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from aerowire.archive.client.parameters import NULL_VALUE
from aerowire.codecs.flyweights.cnc import RecordingPositionKeyDecoder
from aerowire.codecs.tables.counters import CounterType
from aerowire.ipc.counters import NULL_COUNTER_ID, STATE_ALLOCATED

if TYPE_CHECKING:
    from aerowire.ipc.counters import CountersReader


class RecordingPosition(NamedTuple):
    """A recording's counter, as its key describes it."""

    counter_id: int
    recording_id: int
    session_id: int
    source_identity: str
    archive_id: int
    registration_id: int  # greater than that of every counter that the driver allocated before


def recording_positions(counters: CountersReader, archive_id: int = NULL_VALUE) -> list[RecordingPosition]:
    """Return the recordings that go on, by counter id: those of `archive_id`; -1: of all archives of the driver.

    The counters of an archive that was killed remain for the driver's client liveness timeout. One that is started again with the same id
    may have another counter for the same recording by then: the last one that was allocated is returned, alone.
    """
    newest: dict[tuple[int, int], RecordingPosition] = {}
    for info in counters.for_each():
        if info.type_id == CounterType.ARCHIVE_RECORDING_POSITION:
            found = _described(info.counter_id, info.key, info.registration_id)
            if found is not None and archive_id in (NULL_VALUE, found.archive_id):
                before = newest.get((found.archive_id, found.recording_id))
                if before is None or before.registration_id < found.registration_id:
                    newest[found.archive_id, found.recording_id] = found
    return sorted(newest.values())


def find_counter_id_by_recording(counters: CountersReader, recording_id: int, archive_id: int = NULL_VALUE) -> int:
    """Return the counter of a recording, -1 where it does not go on; `archive_id` as in `recording_positions`.

    Recordings of several archives have the same ids: without an archive's id it is the counter that was allocated last.
    """
    return _last_allocated(one for one in recording_positions(counters, archive_id) if one.recording_id == recording_id)


def find_counter_id_by_session(counters: CountersReader, session_id: int, archive_id: int = NULL_VALUE) -> int:
    """Return the counter of the recording of a session, -1 where there is none; `archive_id` as in `recording_positions`."""
    return _last_allocated(one for one in recording_positions(counters, archive_id) if one.session_id == session_id)


def describe_recording_counter(counters: CountersReader, counter_id: int) -> RecordingPosition | None:
    """Return whose position a counter is, None for one that is no recording's, or not any more."""
    if counters.state(counter_id) != STATE_ALLOCATED or counters.type_id(counter_id) != CounterType.ARCHIVE_RECORDING_POSITION:
        return None
    return _described(counter_id, counters.key(counter_id), counters.registration_id(counter_id))


def is_recording_active(counters: CountersReader, counter_id: int, recording_id: int) -> bool:
    """Return whether a counter is still that of the recording: an archive gives it back when the recording stops."""
    found = describe_recording_counter(counters, counter_id)
    return found is not None and found.recording_id == recording_id


def _last_allocated(found: Iterable[RecordingPosition]) -> int:
    last = max(found, key=attrgetter("registration_id"), default=None)
    return NULL_COUNTER_ID if last is None else last.counter_id


def _described(counter_id: int, key: bytes, registration_id: int) -> RecordingPosition | None:
    decoder = RecordingPositionKeyDecoder(key)
    try:
        (archive,) = decoder.archive
        identity = decoder.source_identity
    except ValueError:  # lengths that no archive writes
        return None
    return RecordingPosition(counter_id, decoder.recording_id, decoder.session_id, identity, archive.archive_id, registration_id)
