"""Variable data compiled for one acting version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aerowire.codegen.sbe.interpreter.cursor import Cursor
from aerowire.codegen.sbe.interpreter.errors import MessageError, shown, shown_name
from aerowire.codegen.sbe.interpreter.heads import HEAD, Head, check_told, split_head
from aerowire.codegen.sbe.interpreter.leaf import Extended, Forms
from aerowire.codegen.sbe.interpreter.names import free_name
from aerowire.codegen.sbe.interpreter.section import RAW
from aerowire.codegen.sbe.ir import ByteOrder, Data


class DataPlan:
    """A length and so many bytes; what the version does not have reads as none."""

    def __init__(self, forms: Forms, order: ByteOrder, version: int, data: Data, taken: set[str]) -> None:
        self.name = data.name
        self.is_present = data.since_version <= version
        self.since_version, self.version = data.since_version, version
        self.head = Head(forms, order, version, data.type, ("length",), data.data_offset)
        self._least, self._most = max(int(data.length_type.minimum), 0), int(data.length_type.maximum)
        self._form = forms.data(data)
        self._decode = self._form.decode
        self._head_name = free_name(data.name + HEAD, taken) if forms.keeps_padding else ""
        self._raw_name = free_name(data.name + RAW, taken) if self._form.parse_raw else ""
        self.extra_names = {name for name in (self._head_name, self._raw_name) if name}

    def read(self, cursor: Cursor, values: dict[str, object]) -> None:
        """Read the data into the values of what it is in."""
        if not self.is_present:
            values[self.name] = self._form.absent
            return
        try:
            slots = self.head.read(cursor)
            length = self.head.numbers(slots)
            start = cursor.position
            stop = start + length
            if stop > cursor.end:
                cursor.check("the data", length)
            value = self._decode(bytes(cursor.buffer[start:stop]))
        except MessageError as error:
            raise error.within(self.name) from None
        cursor.position = stop
        if value.__class__ is Extended:
            values[self.name] = value.value
            values[self._raw_name] = value.raw
        else:
            values[self.name] = value
        if self._head_name and (self.head.has_more or not self._least <= length <= self._most):
            kept = self.head.more(slots)
            if not self._least <= length <= self._most:
                kept["length"] = length
            if kept:
                values[self._head_name] = kept

    def write(self, values: Mapping[str, Any], out: bytearray) -> None:
        """Append the data of what it is in."""
        try:
            if self.is_present:
                self._write(values, out)
            elif values.get(self.name) or values.get(self._raw_name):
                told = f"nothing (it is there from version {self.since_version} on, the message has version {self.version})"
                raise MessageError("is not part of this version", expected=told, actual=shown(values[self.name]))
        except MessageError as error:
            raise error.within(self.name) from None

    def _write(self, values: Mapping[str, Any], out: bytearray) -> None:
        raw = self._raw_of(values)
        told, more = split_head(values.get(self._head_name) if self._head_name else None, self.head.roles, self._head_name)
        check_told(told, "length", len(raw), self._head_name)
        if "length" not in told and not self._least <= len(raw) <= self._most:
            raise MessageError("has the wrong length", expected=f"{self._least}..{self._most} bytes", actual=f"{len(raw)} bytes")
        try:
            out += self.head.write((len(raw),), more)
        except MessageError as error:
            raise error.within(self._head_name or "length") from None
        out += raw

    def _raw_of(self, values: Mapping[str, Any]) -> bytes:
        value, form = values.get(self.name), self._form
        if self._raw_name and self._raw_name in values:
            assert form.parse_raw is not None
            raw = form.parse_raw(values[self._raw_name])
            read = form.decode(raw)
            plain = read.value if isinstance(read, Extended) else read
            if self.name in values and plain != value:
                raise MessageError(f"differs from {shown_name(self._raw_name)}", expected=shown(plain), actual=shown(value))
            return raw
        if value is None:
            raise MessageError("is missing" if self.name not in values else "cannot be null", expected="text or bytes")
        return form.encode(value)
