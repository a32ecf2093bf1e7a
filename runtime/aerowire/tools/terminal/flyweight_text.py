"""Messages as text, field by field in the form that the official tools print."""

from __future__ import annotations

import time
from collections.abc import Mapping
from enum import Enum
from typing import Protocol

from aerowire.base.text import printable


class MessageIds(Protocol):
    """What a decoder tells of its message."""

    SBE_TEMPLATE_ID: int
    SBE_SCHEMA_ID: int
    SBE_SCHEMA_VERSION: int
    SBE_BLOCK_LENGTH: int


def flyweight_text(name: str, message: type[MessageIds], values: Mapping[str, object], schema_version: int | None = None) -> str:
    """Return a message on one line. `schema_version` is that of its bytes, if they tell it."""
    own = message.SBE_SCHEMA_VERSION
    version = own if schema_version in (None, own) else f"{schema_version}/{own}"
    ids = f"sbeTemplateId={message.SBE_TEMPLATE_ID}|sbeSchemaId={message.SBE_SCHEMA_ID}|sbeSchemaVersion={version}"
    shown = "|".join(f"{camel_case(field)}={_value(value)}" for field, value in values.items())
    return f"[{name}]({ids}|sbeBlockLength={message.SBE_BLOCK_LENGTH}):{shown}"


def times_text(now_ms: int, start_ms: int, activity_ms: int) -> str:
    """Return when it is, when a component started, and when it last said that it lives, in local time."""
    start, activity = (clock_text(ms, "%Y-%m-%d %H:%M:%S") for ms in (start_ms, activity_ms))
    return f"{clock_text(now_ms, '%H:%M:%S')} (start: {start}, activity: {activity})"


def camel_case(name: str) -> str:
    """Return a field's name as Java writes it."""
    first, *others = name.split("_")
    return first + "".join(other.title() for other in others)


def clock_text(epoch_ms: int, form: str) -> str:
    """Return a moment in local time."""
    try:
        return time.strftime(form, time.localtime(epoch_ms // 1000))
    except (OverflowError, ValueError, OSError):
        return str(epoch_ms)


def _value(value: object) -> str:
    if isinstance(value, Enum):
        return value.name
    return f"'{printable(value)}'" if isinstance(value, str) else str(value)
