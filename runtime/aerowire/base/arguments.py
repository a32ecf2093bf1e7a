"""Checks of arguments: a wrong type or a value out of range raises an error with the argument, what is expected, and what was given.

Whole numbers are whatever Python takes for an index: NumPy's integers and members of an IntEnum too, but neither bool nor float.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable, Mapping

from aerowire.base import units
from aerowire.base.errors import ConfigurationError, UnknownOptionError, WrongTypeError


def whole_number(what: str, value: object, low: int, high: int, *, where: object = None, hint: str | None = None) -> int:
    """Return a number as an int. Raises WrongTypeError, or ConfigurationError where it is not within `low`..`high`."""
    if type(value) is not int:
        value = _index(what, value, f"a whole number from {low} to {high}", where, hint)
    assert isinstance(value, int)
    if not low <= value <= high:
        raise ConfigurationError(f"{what} is out of range", where=where, expected=f"{low} to {high}", actual=value, hint=hint)
    return value


def duration_ns(what: str, value: object) -> int:
    """Return nanoseconds given as a number or as a text with a unit. Raises ConfigurationError."""
    if isinstance(value, str):
        return units.parse_duration_ns(what, value)
    hint = "1.5 seconds are '1500ms'" if isinstance(value, float) else None
    found = _index(what, value, "nanoseconds as a whole number, or text such as '200ms'", what, hint)
    if not units.INT64_MIN <= found <= units.INT64_MAX:
        expected = f"{units.INT64_MIN} to {units.INT64_MAX}"
        raise ConfigurationError(f"{what} is out of range", where=what, expected=expected, actual=found)
    return found


def seconds(what: str, value: object) -> float:
    """Return a number of seconds. Raises WrongTypeError, or ConfigurationError for NaN and for more than a float holds."""
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        raise wrong_type(what, value, "seconds as a number", what)
    try:
        found = float(value)
    except OverflowError:
        found = math.nan
    except (TypeError, ValueError):  # an array has the method and more than one number
        raise wrong_type(what, value, "seconds as a number", what) from None
    if math.isnan(found):
        raise ConfigurationError(f"{what} is out of range", where=what, expected="seconds as a number", actual=f"{value!r:.100}")
    return found


def text(what: str, value: object, *, expected: str = "text", where: object = None) -> str:
    """Return a text. Raises WrongTypeError."""
    if not isinstance(value, str):
        raise wrong_type(what, value, expected, where)
    return value


def function(what: str, value: object) -> None:
    """Raise WrongTypeError for what cannot be called; None stands for no function."""
    if value is not None and not callable(value):
        raise wrong_type(what, value, "a function")


def instance(what: str, value: object, kind: type[object], expected: str) -> None:
    """Raise WrongTypeError for what is of another kind; None stands for none."""
    if value is not None and not isinstance(value, kind):
        raise wrong_type(what, value, expected)


def having(what: str, value: object, method: str, expected: str) -> None:
    """Raise WrongTypeError for an object without a method; None stands for no object."""
    if value is not None and not hasattr(value, method):
        raise wrong_type(what, value, expected)


def option_names(given: Iterable[str], known: Collection[str], what: str, *, where: str, see: str) -> None:
    """Raise UnknownOptionError, which begins with `what`, for the first name that is not a known one; `see` is where the names stand."""
    for name in given:
        if name not in known:
            from difflib import get_close_matches  # slow to load, and only a mistake needs it

            names = sorted(known)
            close = get_close_matches(name, names, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"see {see}"
            raise UnknownOptionError(what, where=where, expected=", ".join(names), actual=repr(name), hint=hint)


def properties(what: str, value: object) -> Mapping[str, str]:
    """Return properties. Raises WrongTypeError for what is no mapping of texts to texts."""
    if not isinstance(value, Mapping):
        raise wrong_type(what, value, "a mapping of names to texts")
    for name, one in value.items():
        if not isinstance(name, str) or not isinstance(one, str):
            raise wrong_type(f"property {name!r}", one if isinstance(name, str) else name, "text, as in a file of properties", what)
    return value


def octets(what: str, value: object) -> bytes:
    """Return a copy of any bytes. Raises WrongTypeError."""
    if isinstance(value, bytes):
        return value
    try:
        return bytes(memoryview(value))  # type: ignore[arg-type]
    except (TypeError, BufferError):
        raise wrong_type(what, value, "bytes") from None


def _index(what: str, value: object, expected: str, where: object, hint: str | None = None) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise wrong_type(what, value, expected, where, hint) from None


def wrong_type(what: str, value: object, expected: str, where: object = None, hint: str | None = None) -> WrongTypeError:
    """Return the error that an argument is of a type that it cannot have."""
    shown = repr(value)
    shown = shown if len(shown) <= 100 else f"{shown[:100]}..."
    return WrongTypeError(
        f"{what} has the wrong type", where=where, expected=expected, actual=f"{shown} ({type(value).__name__})", hint=hint
    )
