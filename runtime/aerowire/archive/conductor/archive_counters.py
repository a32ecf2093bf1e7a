"""The counters of an archive by type, key and label, as they are asked of the driver. Aeron: ArchiveCounters, RecordingPos."""

from __future__ import annotations

from typing import NamedTuple

from aerowire.base import units
from aerowire.base.version import VERSION
from aerowire.codecs.flyweights.cnc import (
    COUNTER_KEY_LENGTH_MAX,
    COUNTER_LABEL_LENGTH_MAX,
    ArchiveCounterKeyEncoder,
    ControlSessionKeyEncoder,
    RecordingPositionKeyEncoder,
)
from aerowire.codecs.tables.counters import COUNTER_LABEL_FORMATS, COUNTER_LABEL_SUFFIXES, CounterType

_ARCHIVE_ID_LENGTH = ArchiveCounterKeyEncoder.ENCODED_LENGTH
_SOURCE_IDENTITY_LENGTH_MAX = COUNTER_KEY_LENGTH_MAX - RecordingPositionKeyEncoder.SOURCE_IDENTITY_OFFSET - _ARCHIVE_ID_LENGTH


class CounterSpec(NamedTuple):
    """A counter to be added."""

    type_id: int
    label: str
    key: bytes


def error_count(archive_id: int) -> CounterSpec:
    """Return the counter of errors, whose label names the version."""
    kind = CounterType.ARCHIVE_ERROR_COUNT
    label = COUNTER_LABEL_FORMATS[kind].format(archive_id=archive_id)
    suffix = COUNTER_LABEL_SUFFIXES[kind].format(version=VERSION, commit="aerowire")
    return CounterSpec(kind, label + suffix, ArchiveCounterKeyEncoder.encode(archive_id=archive_id))


def of_archive(kind: CounterType, archive_id: int) -> CounterSpec:
    """Return a counter that an archive has one of."""
    return CounterSpec(
        kind, COUNTER_LABEL_FORMATS[kind].format(archive_id=archive_id), ArchiveCounterKeyEncoder.encode(archive_id=archive_id)
    )


def of_agent(kind: CounterType, archive_id: int, *, agent: str, threading_mode: str, threshold_ns: int) -> CounterSpec:
    """Return a counter of an agent's duty cycle."""
    label = COUNTER_LABEL_FORMATS[kind].format(
        archive_id=archive_id, agent=agent, threading_mode=threading_mode, threshold=units.format_duration(threshold_ns)
    )
    return CounterSpec(kind, label, ArchiveCounterKeyEncoder.encode(archive_id=archive_id))


def control_session(archive_id: int, control_session_id: int, client_info: str) -> CounterSpec:
    """Return the counter of a control session; the client's information is cut to fit."""
    kind = CounterType.ARCHIVE_CONTROL_SESSION
    key = ControlSessionKeyEncoder.encode(archive_id=archive_id, control_session_id=control_session_id)
    return CounterSpec(kind, _fitted(kind, "client_info", client_info, archive_id=archive_id), key)


def recording_position(
    archive_id: int, *, recording_id: int, session_id: int, stream_id: int, channel: str, source_identity: str
) -> CounterSpec:
    """Return the counter of a recording's position; channel and source identity are cut to fit."""
    kind = CounterType.ARCHIVE_RECORDING_POSITION
    label = _fitted(kind, "channel", channel, archive_id=archive_id, recording_id=recording_id, session_id=session_id, stream_id=stream_id)
    key = RecordingPositionKeyEncoder.encode(
        recording_id=recording_id,
        session_id=session_id,
        source_identity=source_identity[:_SOURCE_IDENTITY_LENGTH_MAX],
        archive=[ArchiveCounterKeyEncoder.encode(archive_id=archive_id)],
    )
    return CounterSpec(kind, label, key)


def _fitted(kind: CounterType, name: str, text: str, **others: int) -> str:
    """Return a label whose part `name` is cut so that all of it fits; text that is not ASCII is escaped."""
    text = text.encode("ascii", "backslashreplace").decode("ascii")
    room = COUNTER_LABEL_LENGTH_MAX - len(COUNTER_LABEL_FORMATS[kind].format(**others, **{name: ""}))
    return COUNTER_LABEL_FORMATS[kind].format(**others, **{name: text[:room]})
