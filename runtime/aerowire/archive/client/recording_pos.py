"""The counters by which an archive tells how far each of its recordings has come. Aeron: RecordingPos.

Such a counter is on the archive's own driver, while the recording goes on; its value is the position up to which it is written.
"""

from __future__ import annotations

from collections.abc import Iterator
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


def recording_positions(counters: CountersReader, archive_id: int = NULL_VALUE) -> Iterator[RecordingPosition]:
    """Yield the recordings that go on, by counter id: those of `archive_id`; -1: of all archives of the driver."""
    for info in counters.for_each():
        if info.type_id == CounterType.ARCHIVE_RECORDING_POSITION:
            found = _described(info.counter_id, info.key)
            if found is not None and archive_id in (NULL_VALUE, found.archive_id):
                yield found


def find_counter_id_by_recording(counters: CountersReader, recording_id: int, archive_id: int = NULL_VALUE) -> int:
    """Return the counter of a recording, -1 where it does not go on; `archive_id` as in `recording_positions`."""
    found = (one.counter_id for one in recording_positions(counters, archive_id) if one.recording_id == recording_id)
    return next(found, NULL_COUNTER_ID)


def find_counter_id_by_session(counters: CountersReader, session_id: int, archive_id: int = NULL_VALUE) -> int:
    """Return the counter of the recording of a session, -1 where there is none; `archive_id` as in `recording_positions`."""
    found = (one.counter_id for one in recording_positions(counters, archive_id) if one.session_id == session_id)
    return next(found, NULL_COUNTER_ID)


def describe_recording_counter(counters: CountersReader, counter_id: int) -> RecordingPosition | None:
    """Return whose position a counter is, None for one that is no recording's, or not any more."""
    if counters.state(counter_id) != STATE_ALLOCATED or counters.type_id(counter_id) != CounterType.ARCHIVE_RECORDING_POSITION:
        return None
    return _described(counter_id, counters.key(counter_id))


def is_recording_active(counters: CountersReader, counter_id: int, recording_id: int) -> bool:
    """Return whether a counter is still that of the recording: an archive gives it back when the recording stops."""
    found = describe_recording_counter(counters, counter_id)
    return found is not None and found.recording_id == recording_id


def _described(counter_id: int, key: bytes) -> RecordingPosition | None:
    decoder = RecordingPositionKeyDecoder(key)
    try:
        (archive,) = decoder.archive
        return RecordingPosition(counter_id, decoder.recording_id, decoder.session_id, decoder.source_identity, archive.archive_id)
    except ValueError:  # lengths that no archive writes
        return None
