"""From the `message` elements of a schema to declarations: fields, groups, data, and what they refer to."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from aerowire.codegen.sbe.ir import Presence
from aerowire.codegen.sbe.reader.block_rules import check_blocks
from aerowire.codegen.sbe.reader.composite_rules import CompositeRules
from aerowire.codegen.sbe.reader.declared import (
    DeclaredComposite,
    DeclaredEncoding,
    DeclaredField,
    DeclaredMessage,
    DeclaredType,
)
from aerowire.codegen.sbe.reader.elements import children, integer, local_name, presence, required, required_integer, shown
from aerowire.codegen.sbe.reader.field_rules import check_field
from aerowire.codegen.sbe.reader.language_names import check_name
from aerowire.codegen.sbe.reader.numerals import shorten
from aerowire.codegen.sbe.reader.report import UnreadableError
from aerowire.codegen.sbe.reader.scope import Scope

GROUP_DEPTH_MAX = 64  # generated code nests as deep, and Python allows a hundred
FIELD_MEMBERS_MAX = 1_000_000  # of all messages, composites expanded; the greatest schemas in use have some ten thousand
DEFAULT_DIMENSION = "groupSizeEncoding"


def read_messages(scope: Scope, types: dict[str, DeclaredType]) -> dict[int, DeclaredMessage]:
    """Return the messages by id; of several with one id the last counts."""
    report = scope.report
    messages: dict[int, DeclaredMessage] = {}
    names: set[str] = set()
    count = 0
    for element in _message_elements(scope.root):
        count += 1
        try:
            message = _MessageReader(scope, types).read(element)
        except UnreadableError:
            continue
        if message.id in messages:
            text = f"message {message.name!r} has id {message.id} of message {messages[message.id].name!r}"
            report.error("duplicate-message", element, text, "id")
        if message.name in names:
            report.error("duplicate-message", element, f"message {message.name!r} is there already", "name")
        check_name(scope, element, message.name)
        names.add(message.name)
        messages[message.id] = message
    if not count:
        report.warning("no-messages", scope.root, "schema has no message")
    return messages


def _message_elements(root: etree._Element) -> Iterator[etree._Element]:
    """A message counts whatever its namespace is.  SBE 2.0 has them in `messages`, which may be an included file."""
    for child in root.iterchildren(etree.Element):
        if local_name(child) == "message":
            yield child
        elif local_name(child) == "messages":
            yield from (one for one in child.iterchildren(etree.Element) if local_name(one) == "message")


class _MessageReader:
    """Reads one message, with all the groups in it."""

    def __init__(self, scope: Scope, types: dict[str, DeclaredType]) -> None:
        self._scope = scope
        self._report = scope.report
        self._types = types

    def read(self, element: etree._Element) -> DeclaredMessage:
        report = self._report
        message = DeclaredMessage(
            element=element,
            id=required_integer(report, element, "id"),
            name=required(report, element, "name"),
            description=element.get("description") or "",
            block_length=integer(report, element, "blockLength", 0),
            since_version=integer(report, element, "sinceVersion", 0),
            deprecated=integer(report, element, "deprecated", 0),
            semantic_type=element.get("semanticType"),
            members=[],
        )
        message.members = self._read_members(element, 1)
        check_blocks(report, message)
        return message

    def _read_members(self, block: etree._Element, depth: int) -> list[DeclaredField]:
        members: list[DeclaredField] = []
        names: set[str] = set()
        ids: set[int | None] = set()
        seen = ""
        for element in children(block, "field", "group", "data"):
            kind = local_name(element)
            self._check_order(element, kind, seen)
            seen = "data" if "data" in (kind, seen) else "group" if "group" in (kind, seen) else ""
            try:
                member = self._read_member(element, kind, depth)
            except UnreadableError:
                continue
            if member.id in ids:
                self._report.error("duplicate-field", element, f"{shown(element)} has id {member.id} of an earlier one", "id")
            if member.name in names:
                self._report.error("duplicate-field", element, f"{shown(element)} has the name of an earlier one", "name")
            ids.add(member.id)
            names.add(member.name)
            members.append(member)
        return members

    def _check_order(self, element: etree._Element, kind: str, seen: str) -> None:
        if kind == "group" and seen == "data":
            self._report.error("bad-order", element, f"{shown(element)} stands after data; groups come first")
        elif kind == "field" and seen:
            self._report.error("bad-order", element, f"{shown(element)} stands after a group or data; fields come first")

    def _read_member(self, element: etree._Element, kind: str, depth: int) -> DeclaredField:
        match kind:
            case "group":
                return self._read_group(element, depth)
            case "data":
                return self._read_data(element)
            case _:
                return self._read_field(element)

    def _read_group(self, element: etree._Element, depth: int) -> DeclaredField:
        report = self._report
        if depth > GROUP_DEPTH_MAX:
            report.fault("too-deep", element, f"groups are nested more than {GROUP_DEPTH_MAX} deep")
            raise UnreadableError
        dimension = self._dimension(element)
        group = DeclaredField(
            element=element,
            name=required(report, element, "name"),
            description=element.get("description") or "",
            id=required_integer(report, element, "id"),
            block_length=integer(report, element, "blockLength", 0),
            since_version=integer(report, element, "sinceVersion", 0),
            deprecated=integer(report, element, "deprecated", 0),
            dimension=dimension,
            semantic_type=element.get("semanticType"),
        )
        check_name(self._scope, element, group.name)
        group.members = self._read_members(element, depth + 1)
        return group

    def _dimension(self, element: etree._Element) -> DeclaredComposite | None:
        name = element.get("dimensionType", DEFAULT_DIMENSION)
        found = self._types.get(name)
        if found is None and self._scope.is_told(name):
            return None
        if found is None:
            hint = self._report.suggest(name, self._types)
            message = f"dimensionType {shorten(name)!r} of {shown(element)} is unknown{hint}"
            self._report.error("unknown-type", element, message, "dimensionType")
            return None
        if not isinstance(found, DeclaredComposite):
            message = f"dimensionType {shorten(name)!r} of {shown(element)} is no composite"
            self._report.error("bad-dimension", element, message, "dimensionType")
            return None
        CompositeRules(self._report, found, element, "dimensionType").check_dimension()
        return found

    def _read_field(self, element: etree._Element) -> DeclaredField:
        report = self._report
        found = self._find_type(element)
        message = f"fields have more than {FIELD_MEMBERS_MAX} members, their composites expanded"
        self._scope.field_weight.add(report, element, _member_count(found), most=FIELD_MEMBERS_MAX, message=message)
        field = self._common(element, found)
        field.presence = presence(report, element, Presence.REQUIRED if found is None else found.presence)
        field.value_ref = element.get("valueRef")
        check_field(self._scope, field, self._types)
        return field

    def _read_data(self, element: etree._Element) -> DeclaredField:
        report = self._report
        found = self._find_type(element)
        if found is not None and not isinstance(found, DeclaredComposite):
            message = f"type {found.name!r} of {shown(element)} is no composite of a length and varData"
            report.error("bad-data", element, message, "type")
        elif found is not None:
            CompositeRules(report, found, element, "type").check_data()
            content = found.members.get("varData")
            if isinstance(content, DeclaredEncoding):
                content.is_variable = True
        field = self._common(element, found)
        field.presence = presence(report, element, Presence.REQUIRED)
        field.is_data = True
        check_field(self._scope, field, self._types)
        return field

    def _find_type(self, element: etree._Element) -> DeclaredType | None:
        name = required(self._report, element, "type")
        found = self._types.get(name)
        if found is None and not self._scope.is_told(name):
            hint = self._report.suggest(name, self._types)
            self._report.error("unknown-type", element, f"type {shorten(name)!r} of {shown(element)} is unknown{hint}", "type")
        return found

    def _common(self, element: etree._Element, found: DeclaredType | None) -> DeclaredField:
        report = self._report
        return DeclaredField(
            element=element,
            name=required(report, element, "name"),
            description=element.get("description") or "",
            id=required_integer(report, element, "id"),
            type=found,
            offset=integer(report, element, "offset", 0),
            since_version=integer(report, element, "sinceVersion", 0),
            deprecated=integer(report, element, "deprecated", 0),
            semantic_type=element.get("semanticType"),
            epoch=element.get("epoch") or "",
            time_unit=element.get("timeUnit") or "",
        )


def _member_count(type: DeclaredType | None) -> int:
    """The members of a composite and of those in it; of anything else none."""
    return sum(1 + _member_count(one) for one in type.members.values()) if isinstance(type, DeclaredComposite) else 0
