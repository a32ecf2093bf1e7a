"""A driver's distinct errors as text for people."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.ipc.error_log import ErrorObservation


def error_report(errors: Iterable[ErrorObservation]) -> str:
    """Return how often and when each error was seen and what it says, and at last how many there are."""
    parts = []
    for error in errors:
        first, last = _time_text(error.first_timestamp_ms), _time_text(error.last_timestamp_ms)
        parts.append(f"\n{error.observation_count} observations from {first} to {last} for:\n{error.text}\n")
    parts.append(f"\n{len(parts)} distinct errors observed.\n")
    return "".join(parts)


def _time_text(epoch_ms: int) -> str:
    seconds, milliseconds = divmod(epoch_ms, 1000)
    local = time.localtime(seconds)
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', local)}.{milliseconds:03d}{time.strftime('%z', local)}"
