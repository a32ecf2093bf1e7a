"""Shifted clocks in `time` and `datetime` of this process, for modules that are imported afterwards."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any

_CLOCKS = ("time", "monotonic", "perf_counter")
_CALENDAR = ("localtime", "gmtime", "ctime")
_NS_PER_S = 1_000_000_000


def shift_clocks(seconds: int) -> None:
    """Set all clocks of this interpreter forward by that much, until it ends."""
    for name in _CLOCKS:
        setattr(time, name, _shifted(getattr(time, name), seconds))
        setattr(time, f"{name}_ns", _shifted(getattr(time, f"{name}_ns"), seconds * _NS_PER_S))
    for name in _CALENDAR:
        setattr(time, name, _of_now(getattr(time, name)))
    time.strftime, time.asctime = _formatted(time.strftime, 1), _formatted(time.asctime, 0)
    datetime.datetime, datetime.date = _Datetime, _Date  # type: ignore[misc]


class _Kind(type):
    """Makes instances of the original class pass as instances: other modules and C code make those."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__mro__[1])

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.__mro__[1])


class _Datetime(datetime.datetime, metaclass=_Kind):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return cls.fromtimestamp(time.time(), tz)

    @classmethod
    def utcnow(cls) -> Any:
        return cls.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> Any:
        return cls.fromtimestamp(time.time())


class _Date(datetime.date, metaclass=_Kind):
    @classmethod
    def today(cls) -> Any:
        return cls.fromtimestamp(time.time())


for _kind, _name in ((_Datetime, "datetime"), (_Date, "date")):
    _kind.__module__, _kind.__name__, _kind.__qualname__ = "datetime", _name, _name


def _shifted(clock: Callable[[], Any], by: int) -> Callable[[], Any]:
    return lambda: clock() + by


def _of_now(function: Callable[[float], Any]) -> Callable[..., Any]:
    return lambda seconds=None: function(time.time() if seconds is None else seconds)


def _formatted(function: Callable[..., Any], place: int) -> Callable[..., Any]:
    """Return a function whose argument at `place` is a time, by default the shifted present."""

    def call(*arguments: Any) -> Any:
        return function(*arguments, *(() if len(arguments) > place else (time.localtime(),)))

    return call
