"""Descriptors and mark files as text, field by field in the form that the official tool prints, and as objects for programs."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from aerowire.base.text import printable
from aerowire.codecs.flyweights.archive import RecordingDescriptor, RecordingDescriptorDecoder, RecordingDescriptorHeaderDecoder
from aerowire.codecs.flyweights.archive_mark import MarkFileHeader, MarkFileHeaderDecoder

if TYPE_CHECKING:
    from aerowire.archive.files.mark_header import MarkHeader
    from aerowire.recordings.catalog_entry import RecordingEntry

# In the order of the schema, as the official tool has them.
_DESCRIPTOR_FIELDS = tuple(field.name for field in fields(RecordingDescriptor))
_MARK_FIELDS = tuple(field.name for field in fields(MarkFileHeader))
_Message = type[RecordingDescriptorDecoder] | type[RecordingDescriptorHeaderDecoder] | type[MarkFileHeaderDecoder]


def descriptor_text(entry: RecordingEntry) -> str:
    """Return the descriptor of a recording on one line."""
    return _text("RecordingDescriptor", RecordingDescriptorDecoder, {name: _value(entry, name) for name in _DESCRIPTOR_FIELDS})


def descriptor_header_text(entry: RecordingEntry) -> str:
    """Return the header of an entry on one line."""
    values = {"length": entry.entry_length, "state": entry.recording_state.name, "checksum": entry.checksum, "reserved": 0}
    return _text("RecordingDescriptorHeader", RecordingDescriptorHeaderDecoder, {name: str(value) for name, value in values.items()})


def mark_text(header: MarkHeader) -> str:
    """Return the header of a mark file on one line."""
    return _text("MarkFileHeader", MarkFileHeaderDecoder, {name: _value(header, name) for name in _MARK_FIELDS}, header.schema_version)


def times_text(header: MarkHeader, now_ms: int) -> str:
    """Return when it is, when an Archive started, and when it last said that it lives, in local time."""
    start, activity = (_time(ms, "%Y-%m-%d %H:%M:%S") for ms in (header.start_timestamp_ms, header.activity_timestamp_ms))
    return f"{_time(now_ms, '%H:%M:%S')} (start: {start}, activity: {activity})"


def entry_object(entry: RecordingEntry) -> dict[str, Any]:
    """Return an entry for programs."""
    values: dict[str, Any] = {field.name: getattr(entry, field.name) for field in fields(entry) if field.name != "recording_state"}
    return values | {"state": entry.recording_state.name}


def mark_object(header: MarkHeader | None) -> dict[str, Any] | None:
    """Return the header of a mark file for programs."""
    return None if header is None else {field.name: getattr(header, field.name) for field in fields(header)}


def _text(name: str, message: _Message, values: dict[str, str], schema_version: int | None = None) -> str:
    version = message.SBE_SCHEMA_VERSION if schema_version is None else schema_version
    ids = f"sbeTemplateId={message.SBE_TEMPLATE_ID}|sbeSchemaId={message.SBE_SCHEMA_ID}|sbeSchemaVersion={version}"
    shown = "|".join(f"{_camel_case(field)}={value}" for field, value in values.items())
    return f"[{name}]({ids}|sbeBlockLength={message.SBE_BLOCK_LENGTH}):{shown}"


def _value(source: RecordingEntry | MarkHeader, name: str) -> str:
    value = getattr(source, f"{name}_ms" if name.endswith("timestamp") else name)
    return f"'{printable(value)}'" if isinstance(value, str) else str(value)


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.title() for other in others)


def _time(epoch_ms: int, form: str) -> str:
    try:
        return time.strftime(form, time.localtime(epoch_ms // 1000))
    except (OverflowError, ValueError, OSError):
        return str(epoch_ms)
