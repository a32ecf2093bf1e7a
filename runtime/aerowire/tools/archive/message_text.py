"""Descriptors and mark files as text, field by field in the form that the official tool prints, and as objects for programs."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from aerowire.codecs.flyweights.archive import RecordingDescriptor, RecordingDescriptorDecoder, RecordingDescriptorHeaderDecoder
from aerowire.codecs.flyweights.archive_mark import MarkFileHeader, MarkFileHeaderDecoder
from aerowire.tools.terminal.flyweight_text import flyweight_text

if TYPE_CHECKING:
    from aerowire.archive.files.mark_header import MarkHeader
    from aerowire.recordings.catalog_entry import RecordingEntry

# In the order of the schema, as the official tool has them.
_DESCRIPTOR_FIELDS = tuple(field.name for field in fields(RecordingDescriptor))
_MARK_FIELDS = tuple(field.name for field in fields(MarkFileHeader))


def descriptor_text(entry: RecordingEntry) -> str:
    """Return the descriptor of a recording on one line."""
    values = {name: _value(entry, name) for name in _DESCRIPTOR_FIELDS}
    return flyweight_text("RecordingDescriptor", RecordingDescriptorDecoder, values)


def descriptor_header_text(entry: RecordingEntry) -> str:
    """Return the header of an entry on one line."""
    values = {"length": entry.entry_length, "state": entry.recording_state, "checksum": entry.checksum, "reserved": 0}
    return flyweight_text("RecordingDescriptorHeader", RecordingDescriptorHeaderDecoder, values)


def mark_text(header: MarkHeader) -> str:
    """Return the header of a mark file on one line."""
    values = {name: _value(header, name) for name in _MARK_FIELDS}
    return flyweight_text("MarkFileHeader", MarkFileHeaderDecoder, values, header.schema_version)


def entry_object(entry: RecordingEntry) -> dict[str, Any]:
    """Return an entry for programs."""
    values: dict[str, Any] = {field.name: getattr(entry, field.name) for field in fields(entry) if field.name != "recording_state"}
    return values | {"state": entry.recording_state.name}


def mark_object(header: MarkHeader | None) -> dict[str, Any] | None:
    """Return the header of a mark file for programs."""
    return None if header is None else {field.name: getattr(header, field.name) for field in fields(header)}


def _value(source: RecordingEntry | MarkHeader, name: str) -> object:
    value: object = getattr(source, f"{name}_ms" if name.endswith("timestamp") else name)
    return value
