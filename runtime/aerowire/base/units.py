"""Sizes and durations as Aeron writes them: `64k`, `16m`, `1g`; `200ms`, `1us`, `5s`.

Text that is not such a value raises `ConfigurationError`, which names the option that held it.
"""

from __future__ import annotations

import re

from aerowire.base.errors import ConfigurationError

_SIZE = re.compile(r"(-?[0-9]+)([kKmMgG]?)", re.ASCII)
# More than any number of 64 bits has, leading zeros included.
DIGITS_MAX = 100
_DURATION = re.compile(r"(-?[0-9]+)(ns|us|ms|s|)", re.ASCII | re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)

_SIZE_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_DURATION_FACTORS_NS = {"": 1, "ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}

_TRUE, _FALSE = {"true", "on", "1"}, {"false", "off", "0"}

INT32_MIN, INT32_MAX = -(1 << 31), (1 << 31) - 1
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
# An id, a position or a time that is not known. Aeron: Aeron.NULL_VALUE.
NULL_VALUE = -1


def parse_size(name: str, text: str) -> int:
    """Parse a number of bytes with an optional k, m or g; `name` is the option, for the error. Aeron: SystemUtil.parseSize."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ConfigurationError(
            f"{name} is not a size", where=name, expected="an integer with an optional k, m or g", actual=repr(text), hint="for example 64k"
        )
    value = _digits(name, match[1]) * _SIZE_FACTORS[match[2].lower()]
    return _within(name, value, INT64_MIN, INT64_MAX)


def parse_duration_ns(name: str, text: str) -> int:
    """Parse a duration with an optional ns, us, ms or s (none: ns) into nanoseconds. Aeron: SystemUtil.parseDuration."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ConfigurationError(
            f"{name} is not a duration",
            where=name,
            expected="an integer with an optional ns, us, ms or s",
            actual=repr(text),
            hint="for example 200ms",
        )
    value = _digits(name, match[1]) * _DURATION_FACTORS_NS[match[2].lower()]
    return _within(name, value, INT64_MIN, INT64_MAX)


def parse_integer(name: str, text: str, low: int = INT32_MIN, high: int = INT32_MAX) -> int:
    """Parse a decimal integer within `low`..`high` inclusive."""
    if _INTEGER.fullmatch(text) is None:
        raise ConfigurationError(f"{name} is not an integer", where=name, expected="a decimal integer", actual=repr(text))
    return _within(name, _digits(name, text), low, high)


def parse_boolean(name: str, text: str) -> bool:
    """Parse `true` or `false`, in any case, or what the C driver takes for them as well. Aeron: aeron_parse_bool."""
    lowered = text.lower()
    if lowered not in _TRUE | _FALSE:
        raise ConfigurationError(f"{name} is not a boolean", where=name, expected="true or false", actual=repr(text))
    return lowered in _TRUE


def format_duration(duration_ns: int) -> str:
    """Render nanoseconds in the largest unit that divides them: `100ms`. Aeron: SystemUtil.formatDuration."""
    for unit in ("s", "ms", "us"):
        factor = _DURATION_FACTORS_NS[unit]
        if duration_ns and duration_ns % factor == 0:
            return f"{duration_ns // factor}{unit}"
    return f"{duration_ns}ns"


def format_size(length: int) -> str:
    """Render a number of bytes in the largest unit that divides it: `64k`."""
    for unit in ("g", "m", "k"):
        factor = _SIZE_FACTORS[unit]
        if length and length % factor == 0:
            return f"{length // factor}{unit}"
    return str(length)


def _digits(name: str, text: str) -> int:
    """Return a number in decimal digits. Python refuses to convert some thousands of them, with an error of its own."""
    if len(text) > DIGITS_MAX:
        raise ConfigurationError(
            f"{name} is out of range", where=name, expected=f"at most {DIGITS_MAX} digits", actual=f"{len(text)} digits"
        )
    return int(text)


def _within(name: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise ConfigurationError(f"{name} is out of range", where=name, expected=f"{low} to {high}", actual=value)
    return value
