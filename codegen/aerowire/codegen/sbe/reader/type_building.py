"""From checked declarations of types to the frozen tree: encodings, enums, sets, and composites with the offsets of their members."""

from __future__ import annotations

from typing import TypedDict

from aerowire.codegen.primitives import Primitive
from aerowire.codegen.problems import Location
from aerowire.codegen.sbe.ir import Choice, Composite, EncodedType, Enum, FlagSet, Member, Number, Presence, Type, ValidValue
from aerowire.codegen.sbe.reader.declared import (
    NO_OFFSET,
    Declared,
    DeclaredComposite,
    DeclaredEncoding,
    DeclaredEnum,
    DeclaredSet,
    DeclaredType,
)
from aerowire.codegen.sbe.reader.elements import shown
from aerowire.codegen.sbe.reader.report import Report

LENGTH_MAX = 1 << 24  # of a value or a block: Aeron's longest message.  Readers have a number or a null for each element of an array


class Named(TypedDict):
    """The arguments that every node of the tree takes."""

    name: str
    description: str
    since_version: int
    deprecated: int
    semantic_type: str
    location: Location


def named(report: Report, declared: Declared) -> Named:
    return Named(
        name=declared.name,
        description=declared.description,
        since_version=declared.since_version,
        deprecated=declared.deprecated,
        semantic_type=declared.semantic_type or "",
        location=report.locate(declared.element),
    )


def check_length(report: Report, declared: Declared, length: int) -> None:
    """Refuse a composite or a block that is longer than any message."""
    if length > LENGTH_MAX:
        report.fault("bad-length", declared.element, f"{shown(declared.element)} takes {length} bytes; expected at most {LENGTH_MAX}")


class TypeBuilder:
    """Builds each declared type once."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._built: dict[DeclaredType, Type] = {}

    def find(self, declared: DeclaredType) -> Type:
        """Return the type of a declaration, the same one each time."""
        if declared not in self._built:
            self._built[declared] = self._build(declared)
        return self._built[declared]

    def _build(self, declared: DeclaredType) -> Type:
        match declared:
            case DeclaredEncoding():
                return self._encoding(declared)
            case DeclaredEnum():
                return self._enum(declared)
            case DeclaredSet():
                return self._set(declared)
            case DeclaredComposite():
                return self._composite(declared)
            case _:
                raise AssertionError(declared)

    def _encoding(self, declared: DeclaredEncoding) -> EncodedType:
        if not 0 <= declared.length * declared.primitive.size <= LENGTH_MAX:
            message = f"{shown(declared.element)} has length {declared.length}; expected at least 0, and at most {LENGTH_MAX} bytes"
            self._report.fault("bad-length", declared.element, message, "length")
        return EncodedType(
            **named(self._report, declared),
            primitive=declared.primitive,
            length=0 if declared.is_variable else declared.length,
            presence=declared.presence,
            constant=declared.constant,
            null_value=_wrapped(declared.null_value, declared.primitive),
            min_value=declared.min_value,
            max_value=declared.max_value,
            character_encoding=declared.character_encoding,
            value_ref=declared.value_ref,
            package=declared.package,
        )

    def _enum(self, declared: DeclaredEnum) -> Enum:
        return Enum(
            **named(self._report, declared),
            primitive=declared.primitive,
            values=tuple(ValidValue(**named(self._report, one), value=one.value) for one in declared.values.values()),
            null=int(_wrapped(declared.null, declared.primitive) or 0),
            presence=declared.presence,
            package=declared.package,
        )

    def _set(self, declared: DeclaredSet) -> FlagSet:
        return FlagSet(
            **named(self._report, declared),
            primitive=declared.primitive,
            choices=tuple(Choice(**named(self._report, one), bit=one.value) for one in declared.values.values()),
            package=declared.package,
        )

    def _composite(self, declared: DeclaredComposite) -> Composite:
        members: list[Member] = []
        offset = size = 0
        for one in declared.members.values():
            if one.offset != NO_OFFSET:
                offset = one.offset
            built = self.find(one)
            members.append(Member(**named(self._report, one), type=built, offset=offset, reference=one.reference))
            offset += 0 if one.presence is Presence.CONSTANT else built.size
            size = offset
        check_length(self._report, declared, size)
        return Composite(**named(self._report, declared), members=tuple(members), size=size, package=declared.package)


def _wrapped(value: Number | None, primitive: Primitive) -> Number | None:
    """A number outside its primitive's range as the bytes of that primitive hold it: -1 is 255 in a uint8."""
    if value is None or isinstance(value, float) or primitive.signed or primitive.minimum <= value <= primitive.maximum:
        return value
    return value & primitive.maximum
