"""What a composite must have to be a message header, the dimensions of a group, or a length in front of data.

Each rule counts as often as the official tool reports it, which compares 64-bit numbers as signed.
"""

from __future__ import annotations

from lxml import etree

from aerowire.codegen.primitives import Primitive
from aerowire.codegen.sbe.ir import HEADER_NUMBERS, RANGES, Number
from aerowire.codegen.sbe.reader.declared import DeclaredComposite, DeclaredEncoding
from aerowire.codegen.sbe.reader.elements import shown
from aerowire.codegen.sbe.reader.numerals import INT32_MAX, as_long
from aerowire.codegen.sbe.reader.report import Report, UnreadableError

_SMALL = ("uint8", "uint16")


def _is_unsigned(kind: Primitive) -> bool:
    return not kind.signed and not kind.is_float and kind.name != "char"


class CompositeRules:
    """The rules for one composite, as `element` (a schema, a group or data) uses it."""

    def __init__(self, report: Report, composite: DeclaredComposite, element: etree._Element, attribute: str) -> None:
        self._report = report
        self._composite = composite
        self._element = element
        self._attribute = attribute

    def check_header(self) -> None:
        block_length = self._member("blockLength")
        if block_length is None:
            self._lacks("bad-header", "blockLength", "does not tell the length of a block")
        elif not _is_unsigned(block_length.primitive):
            self._error("bad-header", f"has blockLength of {block_length.primitive.name}, which is not unsigned")
        for name in HEADER_NUMBERS:
            member = self._member(name)
            if member is None:
                self._lacks("bad-header", name)
            elif member.primitive.name != "uint16":
                self._warning("unusual-header", f"has {name} of {member.primitive.name}; uint16 is usual")

    def check_dimension(self) -> None:
        block_length, count = self._member("blockLength"), self._member("numInGroup")
        if block_length is None:
            self._lacks("bad-dimension", "blockLength")
        elif not _is_unsigned(block_length.primitive):
            self._error("bad-dimension", f"has blockLength of {block_length.primitive.name}, which is not unsigned")
        else:
            if block_length.primitive.name not in _SMALL:
                self._warning("unusual-dimension", f"has blockLength of {block_length.primitive.name}; uint8 or uint16 is usual")
            self._check_maximum("blockLength", block_length.primitive, block_length.max_value)
        if count is None:
            self._lacks("bad-dimension", "numInGroup")
        elif not _is_unsigned(count.primitive):
            self._check_signed_count(count)
        else:
            self._check_count(count)

    def _check_signed_count(self, count: DeclaredEncoding) -> None:
        self._warning("unusual-dimension", f"has numInGroup of {count.primitive.name}, which is not unsigned")
        if count.min_value is None:
            self._error("bad-dimension", f"has numInGroup of {count.primitive.name} without a minValue")
            return
        if self._long("numInGroup", count.min_value) < 0:
            self._error("bad-dimension", f"has numInGroup with minValue {count.min_value}; it must not be negative")

    def _check_count(self, count: DeclaredEncoding) -> None:
        if count.primitive.name not in _SMALL:
            self._warning("unusual-dimension", f"has numInGroup of {count.primitive.name}; uint8 or uint16 is usual")
        self._check_maximum("numInGroup", count.primitive, count.max_value)
        if count.min_value is not None:
            maximum = RANGES[count.primitive.name].maximum if count.max_value is None else count.max_value
            if as_long(count.min_value) > as_long(maximum):
                self._error("bad-dimension", f"has numInGroup with minValue {count.min_value}, above its maximum of {int(maximum)}")

    def check_data(self) -> None:
        length = self._member("length")
        if length is None:
            self._lacks("bad-data", "length")
        else:
            kind = length.primitive
            if not _is_unsigned(kind):
                self._error("bad-data", f"has length of {kind.name}, which is not unsigned")
            elif kind.name == "uint64":
                self._warning("unusual-data", "has length of uint64; uint8, uint16 or uint32 is usual")
            self._check_maximum("length", kind, length.max_value)
        if self._element.get("presence") == "optional":
            self._report.error("optional-data", self._element, f"{shown(self._element)} is optional; data is always there", "presence")
        if self._member("varData") is None:
            self._lacks("bad-data", "varData")

    def _check_maximum(self, name: str, kind: Primitive, value: Number | None) -> None:
        """A length or count of 32 bits needs a maximum that the official tool's signed numbers can hold."""
        if value is None:
            if kind.name == "uint32":
                self._error("missing-max-value", f"has {name} of uint32 without a maxValue; it must be {INT32_MAX} at most")
            return
        number = self._long(name, value)
        allowed = RANGES[kind.name].maximum
        if number > as_long(allowed):
            self._error("max-value-too-great", f"has {name} with maxValue {value}; {kind.name} allows {int(allowed)}")
        if kind.name == "uint32" and number > INT32_MAX:
            self._error("max-value-too-great", f"has {name} with maxValue {value}; lengths and counts allow {INT32_MAX}")

    def _member(self, name: str) -> DeclaredEncoding | None:
        member = self._composite.members.get(name)
        if member is None or isinstance(member, DeclaredEncoding):
            return member
        raise self._fault(f"has {name!r}, which is no type with a primitiveType")

    def _long(self, name: str, value: Number) -> int:
        if isinstance(value, float):
            raise self._fault(f"has {name} of a floating-point type")
        return as_long(value)

    def _fault(self, text: str) -> UnreadableError:
        self._report.fault("bad-member", self._element, self._message(text), self._attribute)
        return UnreadableError()

    def _lacks(self, rule: str, name: str, text: str = "") -> None:
        """A member is not there; of one that is declared, what is wrong with it is told already."""
        if name not in self._composite.told:
            self._error(rule, text or f"lacks {name!r}")

    def _error(self, rule: str, text: str) -> None:
        self._report.error(rule, self._element, self._message(text), self._attribute)

    def _warning(self, rule: str, text: str) -> None:
        self._report.warning(rule, self._element, self._message(text), self._attribute)

    def _message(self, text: str) -> str:
        return f"composite {self._composite.name!r} of {shown(self._element)} {text}"
