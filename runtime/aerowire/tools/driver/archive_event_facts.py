"""The fields of an archive's events, read from the records of its event log."""

from __future__ import annotations

import dataclasses
import enum
import json
from typing import Any

from aerowire.codecs.flyweights.archive import decode
from aerowire.codecs.flyweights.events import ArchiveEventCode, CommandEventDecoder, StateEventDecoder
from aerowire.codecs.support.errors import SbeError

# A log may be read by more users than may know how clients authenticate.
_SECRETS = {"encoded_credentials"}


def archive_facts(kind: ArchiveEventCode, body: bytes) -> dict[str, Any]:
    """Return the fields of an event by name. Raises ValueError for a record that is not one of its kind."""
    if kind.name.startswith("CMD_") or kind is ArchiveEventCode.RECORDING_SIGNAL:
        return _message_facts(CommandEventDecoder(body))
    return dict(json.loads(StateEventDecoder(body).text))


def _message_facts(event: CommandEventDecoder) -> dict[str, Any]:
    message = bytes(event.command)
    facts: dict[str, Any] = {"length": event.command_length}
    try:
        found = decode(message)
        facts["message"] = {field.name: _plain(field.name, getattr(found, field.name)) for field in dataclasses.fields(found)}
    except SbeError:
        facts["bytes"] = message.hex()  # of another schema, or more of it than was kept
    return facts


def _plain(name: str, value: Any) -> object:
    if name in _SECRETS:
        return f"{len(value)} bytes"
    if isinstance(value, enum.Enum):
        return value.name
    return value.hex() if isinstance(value, bytes | bytearray | memoryview) else value
