"""Numbers, times and foreign text as people read them. Knows nothing of what they are of."""

from __future__ import annotations

import time

from aerowire.base.text import printable

_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_DAY_S, _HOUR_S, _MINUTE_S = 86_400, 3_600, 60


def grouped(value: int) -> str:
    """Return a number with its thousands apart."""
    return f"{value:,}"


def size_text(length: int) -> str:
    """Return a number of bytes in the unit that leaves it below 1,024: `1.5 MiB`."""
    amount, sign = abs(length), "-" if length < 0 else ""
    exponent = min(max(amount.bit_length() - 1, 0) // 10, len(_BYTE_UNITS) - 1)
    if exponent == 0:
        return f"{sign}{amount} B"
    scaled = amount / (1 << 10 * exponent)
    return f"{sign}{scaled:.0f} {_BYTE_UNITS[exponent]}" if scaled == int(scaled) else f"{sign}{scaled:.1f} {_BYTE_UNITS[exponent]}"


def rate_text(per_second: float | None) -> str:
    """Return a change a second; nothing where there is none."""
    if not per_second:
        return ""
    return f"{per_second:,.0f}" if abs(per_second) >= 10 else f"{per_second:.2g}"


def time_text(epoch_ms: int) -> str:
    """Return a moment in local time, to the millisecond."""
    seconds, milliseconds = divmod(epoch_ms, 1000)
    try:
        return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(seconds))}.{milliseconds:03d}"
    except (OverflowError, ValueError, OSError):
        return f"{epoch_ms} ms"  # not a time that a calendar has


def age_text(age_ms: int) -> str:
    """Return how long something is ago, in at most two units: `3 ms`, `12 s`, `2 h 5 min`."""
    if abs(age_ms) < 10_000:
        return f"{age_ms} ms"
    seconds = age_ms // 1000
    if seconds < 2 * _MINUTE_S:
        return f"{seconds} s"
    if seconds < _HOUR_S:
        return f"{seconds // _MINUTE_S} min"
    if seconds < _DAY_S:
        return f"{seconds // _HOUR_S} h {seconds % _HOUR_S // _MINUTE_S} min"
    return f"{seconds // _DAY_S} d {seconds % _DAY_S // _HOUR_S} h"


def printable_text(text: object) -> str:
    """Return foreign text of several lines with each line printable."""
    return "\n".join(printable_lines(str(text)))


def printable_error(text: object) -> str:
    """Return an error of one or more lines; lines after the first are indented, so that none looks like output of the command."""
    return "\n    ".join(printable_lines(str(text)))


def printable_lines(text: str) -> list[str]:
    """Return the lines of foreign text that may have several, each of them printable; where it is shown, it must be set apart."""
    return [printable(line.removesuffix("\r")) for line in text.split("\n")]
