"""A service's state as an object, in JSON: the plain values of Python, and classes that the service names.

JSON and not pickle, because a snapshot may come from another machine: what is read makes values, and objects of the named classes alone. It
is text, so that a state can be looked at, and compared between members. The order of a dict is a part of the state. What JSON has no form
for is an object with one key that begins with `$`:

    {"$bytes": "AAE="}  {"$tuple": [1, 2]}  {"$set": [1, 2]}  {"$dict": [[1, "one"]]}  {"$Account": {"owner": "x"}}  {"$Side": "BUY"}

An object that the state holds twice is two objects after it was read.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import enum
import json
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from aerowire.base.errors import ClusterSnapshotError

_TAG: Final = "$"
_BYTES, _TUPLE, _SET, _FROZENSET, _DICT = "$bytes", "$tuple", "$set", "$frozenset", "$dict"
_SCALARS: Final = (bool, int, str)
_WHERE = "the state of a service"


class StateCodec:
    """Encodes and decodes states. `types` are the data classes and enumerations that a state may hold."""

    def __init__(self, types: Sequence[type] = ()) -> None:
        """Raises ClusterSnapshotError for another kind of class, and for two of the same name."""
        self._types: dict[str, Any] = {}
        for kind in types:
            if not (isinstance(kind, type) and (dataclasses.is_dataclass(kind) or issubclass(kind, enum.Enum))):
                raise _wrong("a class cannot be a part of a state", "a data class or an enumeration", repr(kind))
            name = _TAG + kind.__name__
            if name in self._types or name in _READERS:
                raise _wrong("two classes of a state have one name", "names that differ", kind.__name__)
            self._types[name] = kind
        self._writers: dict[type, Callable[[Any], Any]] = {
            float: self._float,
            list: self._list,
            dict: self._dict,
            bytes: self._bytes,
            tuple: self._tuple,
            set: self._set,
            frozenset: self._set,
        }

    def encode(self, state: object) -> bytes:
        """Return the bytes of a state. Raises ClusterSnapshotError for what a state cannot hold."""
        try:
            plain = self._plain(state)
        except RecursionError:
            raise _wrong("a state cannot be written", "values that do not hold themselves, and are not too deep", "a cycle") from None
        return _dump(plain)

    def decode(self, data: bytes) -> Any:
        """Return the state that was encoded. Raises ClusterSnapshotError for what is none, or names other classes."""
        try:
            return self._value(json.loads(data, parse_constant=_refuse_constant))
        except (ValueError, RecursionError) as error:
            raise _wrong("a state is damaged", "JSON", str(error) or type(error).__name__) from None

    # ---- writing

    def _plain(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in _SCALARS:
            return value
        write: Callable[[Any], Any] = self._writers.get(kind, self._named)
        return write(value)

    def _float(self, value: float) -> float:
        if not math.isfinite(value):
            raise _wrong("a state holds a number that JSON has no form for", "finite numbers", repr(value))
        return value

    def _list(self, value: list[Any]) -> Any:
        return [self._plain(one) for one in value]

    def _dict(self, value: dict[Any, Any]) -> Any:
        if all(type(key) is str and not key.startswith(_TAG) for key in value):
            return {key: self._plain(one) for key, one in value.items()}
        return {_DICT: [[self._plain(key), self._plain(one)] for key, one in value.items()]}

    def _bytes(self, value: bytes) -> Any:
        return {_BYTES: base64.b64encode(value).decode("ascii")}

    def _tuple(self, value: tuple[Any, ...]) -> Any:
        return {_TUPLE: [self._plain(one) for one in value]}

    def _set(self, value: set[Any] | frozenset[Any]) -> Any:
        # Sets are in no order: their members are put into that of their bytes, so that equal states are equal bytes.
        return {_SET if type(value) is set else _FROZENSET: sorted((self._plain(one) for one in value), key=_dump)}

    def _named(self, value: Any) -> Any:
        name = _TAG + type(value).__name__
        if self._types.get(name) is not type(value):
            raise _wrong("a state holds what is not allowed", f"plain values, or one of {self._names()}", f"a {type(value).__name__}")
        if isinstance(value, enum.Enum):
            return {name: value.name}
        return {name: {field.name: self._plain(getattr(value, field.name)) for field in dataclasses.fields(value)}}

    # ---- reading

    def _value(self, plain: Any) -> Any:
        if isinstance(plain, list):
            return [self._value(one) for one in plain]
        if not isinstance(plain, dict):
            return plain
        tag = next(iter(plain), "")
        if not tag.startswith(_TAG):
            return {key: self._value(one) for key, one in plain.items()}
        if len(plain) != 1:
            raise _wrong("a state is damaged", f"nothing beside {tag}", f"{len(plain)} keys")
        content = plain[tag]
        try:
            if tag in _READERS:
                return _READERS[tag](self._value(content) if tag != _BYTES else content)
            return self._object(tag, content)
        except (TypeError, KeyError, binascii.Error) as error:
            raise _wrong("a state is damaged", f"the content of {tag}", f"{type(error).__name__}: {error}") from None

    def _object(self, tag: str, content: Any) -> Any:
        kind = self._types.get(tag)
        if kind is None:
            raise _wrong("a state names a class that is not allowed", f"one of {self._names()}", tag.removeprefix(_TAG))
        if issubclass(kind, enum.Enum):
            return kind[content]
        made = kind.__new__(kind)
        names = {field.name for field in dataclasses.fields(kind)}
        if set(content) != names:
            raise _wrong("an object in a state has other fields", ", ".join(sorted(names)), ", ".join(sorted(content)))
        for name, one in content.items():
            object.__setattr__(made, name, self._value(one))  # of a frozen class, too
        return made

    def _names(self) -> str:
        return ", ".join(kind.__name__ for kind in self._types.values()) or "no classes"


_READERS: dict[str, Callable[[Any], Any]] = {
    _BYTES: lambda text: base64.b64decode(text, validate=True),
    _TUPLE: tuple,
    _SET: set,
    _FROZENSET: frozenset,
    _DICT: dict,
}


def _dump(plain: Any) -> bytes:
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def _wrong(what: str, expected: str, actual: str) -> ClusterSnapshotError:
    return ClusterSnapshotError(what, where=_WHERE, expected=expected, actual=actual)
