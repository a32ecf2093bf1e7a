"""Reads the values of a channel's parameters, when somebody needs them: what nobody needs may be anything, as with the official driver.

Which code a client is told for a bad value depends on who reads it. Aeron: UdpChannel, PublicationParams and SubscriptionParams.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from aerowire.base import units
from aerowire.base.channel_uri import RESERVED_OFFSET, ChannelUri
from aerowire.base.errors import ChannelValueError, ConfigurationError
from aerowire.codecs.tables.errors import ErrorCode

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ChannelValues:
    """One channel's values, and the code of a bad one: `measure_code` for sizes and durations that cannot be read."""

    uri: ChannelUri
    error_code: ErrorCode
    measure_code: ErrorCode

    def boolean(self, key: str, default: bool) -> bool:
        """Return whether `key` is `true`; any other text is false."""
        text = self.uri.get(key)
        return default if text is None else text == "true"

    def integer(self, key: str, default: int, low: int = units.INT32_MIN, high: int = units.INT32_MAX) -> int:
        """Return an integer within `low`..`high`."""
        return self._read(key, default, lambda text: units.parse_integer(key, text, low, high))

    def optional_long(self, key: str) -> int | None:
        """Return an integer of 64 bits, or None."""
        return self._read(key, None, lambda text: units.parse_integer(key, text, units.INT64_MIN, units.INT64_MAX))

    def size(self, key: str, default: int) -> int:
        """Return a number of bytes that fits 32 bits."""
        return self._read(key, default, lambda text: _size(key, text), self.measure_code)

    def duration(self, key: str, default: int) -> int:
        """Return nanoseconds, 0 or more."""
        return self._read(key, default, lambda text: _duration(key, text), self.measure_code)

    def optional_duration(self, key: str) -> int | None:
        """Return nanoseconds, 0 or more, or None."""
        return self._read(key, None, lambda text: _duration(key, text), self.measure_code)

    def timestamp_offset(self, key: str, *, none: int, reserved: int) -> int:
        """Return the offset of a timestamp in a message: an integer, `reserved` for the word, `none` without the parameter."""
        return self._read(key, none, lambda text: reserved if text == RESERVED_OFFSET else units.parse_integer(key, text))

    def error(self, what: str, expected: str, *keys: str) -> ChannelValueError:
        """Return the error of values that can be read and are wrong."""
        actual = " ".join(f"{key}={self.uri.get(key)}" for key in keys)
        return ChannelValueError(what, where=self.uri, expected=expected, actual=actual, error_code=self.error_code)

    def _read(self, key: str, default: _T, parse: Callable[[str], _T], error_code: ErrorCode | None = None) -> _T:
        text = self.uri.get(key)
        if text is None:
            return default
        try:
            return parse(text)
        except ConfigurationError as error:
            raise ChannelValueError(
                error.what,
                where=self.uri,
                expected=error.expected,
                actual=f"{key}={text}",
                hint=error.hint,
                error_code=self.error_code if error_code is None else error_code,
            ) from None


def _size(key: str, text: str) -> int:
    value = units.parse_size(key, text)
    if not 0 <= value <= units.INT32_MAX:
        raise ConfigurationError(f"{key} is out of range", where=key, expected=f"0 to {units.INT32_MAX}", actual=value)
    return value


def _duration(key: str, text: str) -> int:
    value = units.parse_duration_ns(key, text)
    if value < 0:
        raise ConfigurationError(f"{key} is negative", where=key, expected="a duration of 0 or more", actual=repr(text))
    return value
