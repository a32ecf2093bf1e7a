"""Whether the ids, versions and block lengths of a schema fit the members of headers and dimensions that carry them.

The official tool does not look, and its writers cut such a number to the width of the member: nobody could read what they write.
"""

from __future__ import annotations

from lxml import etree

from aerowire.codegen.sbe.ir import Presence
from aerowire.codegen.sbe.reader.declared import DeclaredComposite, DeclaredEncoding, DeclaredField, DeclaredSchema
from aerowire.codegen.sbe.reader.elements import shown
from aerowire.codegen.sbe.reader.report import Report


def check_numbers(report: Report, schema: DeclaredSchema) -> None:
    """Report each number that its member cannot hold."""
    rule = _Numbers(report, schema.header)
    rule.check("schemaId", schema.id, schema.element, "id")
    rule.check("version", schema.version, schema.element, "version")
    for message in schema.messages.values():
        rule.check("templateId", message.id, message.element, "id")
        rule.check("blockLength", max(message.block_length, message.computed_block_length), message.element, "blockLength")
        _check_groups(report, message.members)


def _check_groups(report: Report, fields: list[DeclaredField]) -> None:
    for field in fields:
        if field.members is not None and field.dimension is not None:
            _Numbers(report, field.dimension).check("blockLength", field.computed_block_length, field.element, "blockLength")
            _check_groups(report, field.members)


class _Numbers:
    """The members of one composite as places for numbers."""

    def __init__(self, report: Report, composite: DeclaredComposite) -> None:
        self._report = report
        self._composite = composite

    def check(self, name: str, number: int, element: etree._Element, attribute: str) -> None:
        member = self._composite.members.get(name)
        if not isinstance(member, DeclaredEncoding) or member.presence is Presence.CONSTANT:
            return
        kind = member.primitive
        if not kind.is_float and not kind.minimum <= number <= kind.maximum:
            held = f"{name} of {self._composite.name!r} is {kind.name}, {kind.minimum} to {kind.maximum}"
            message = f"{shown(element)} has {attribute} {number}, but {held}"
            self._report.error("number-too-great", element, message, attribute)
