"""What every decoder and encoder is: something at an offset of a buffer."""

from __future__ import annotations

import struct
from math import isnan
from typing import Any, ClassVar

from .errors import FieldMeta


class Flyweight:
    """Something at an offset of a buffer."""

    __slots__ = ("_buffer", "_offset")
    _buffer: memoryview
    _offset: int
    _NAME: ClassVar[str]
    _MEMBERS: ClassVar[tuple[str, ...]]
    _NULLABLE: ClassVar[tuple[str, ...]] = ()  # composites for which None stands when all their members are null
    _META: ClassVar[dict[str, tuple[Any, ...]]]

    def _path(self) -> str:
        """Where in its message this is, in the schema's names."""
        return self._NAME

    @property
    def sbe_buffer(self) -> memoryview:
        return self._buffer

    @property
    def sbe_offset(self) -> int:
        return self._offset

    @classmethod
    def sbe_meta(cls, name: str) -> FieldMeta:
        """What the schema says about a member, by its Python name or the schema's."""
        found = cls._META.get(name) or next((one for one in cls._META.values() if one[0] == name), None)
        if found is None:
            raise KeyError(f"{cls._NAME} has no {name!r}; there are {', '.join(cls._META)}")
        return FieldMeta(*found)

    def to_dict(self) -> dict[str, Any]:
        """Every member by its Python name; bytes are copied, composites are dicts and groups lists of them."""
        return {name: plain(self._value(name)) for name in self._shown()}

    def _value(self, name: str) -> Any:
        """A member as a data class has it: None for a composite without a value."""
        value = getattr(self, name)
        return None if name in self._NULLABLE and is_null(value) else value

    def _shown(self) -> tuple[str, ...]:
        """The members that can be read."""
        return self._MEMBERS

    def __repr__(self) -> str:
        parts: list[str] = []
        try:
            for name in self._shown():
                value = getattr(self, name)
                parts.append(f"{name}={bytes(value) if isinstance(value, memoryview) else value!r}")
        except (ValueError, struct.error) as error:
            parts.append(f"<damaged: {error}>")
        except AttributeError:
            parts = ["<not wrapped>"]
        return f"{type(self).__name__}({', '.join(parts)})"


def is_null(composite: Any) -> bool:
    """Whether all members of a composite, a decoder or a record, are null or newer than the message."""
    return composite is None or all(_is_null_value(getattr(composite, name), null) for name, null in composite._NULLS)


def _is_null_value(value: Any, null: Any) -> bool:
    """`null` is the value that stands for null; None for that of a composite, which has members."""
    if value is None:
        return True
    if null is None:
        return is_null(value)
    if isinstance(null, tuple):
        return all(_is_null_value(*pair) for pair in zip(value, null, strict=True))
    return bool(value == null or (isinstance(null, float) and isnan(null) and isnan(value)))


def plain(value: Any) -> Any:
    """A member's value without views of the buffer."""
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, Flyweight):
        return value.to_dict()
    return value if isinstance(value, int | float | str | bytes | tuple | None) else [plain(one) for one in value]
