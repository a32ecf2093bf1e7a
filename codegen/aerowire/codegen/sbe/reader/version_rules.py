"""Nothing of a schema can be newer than the schema; and what a schema was in an earlier version."""

from __future__ import annotations

from aerowire.codegen.sbe.ir import Presence
from aerowire.codegen.sbe.reader.block_rules import root_block_length
from aerowire.codegen.sbe.reader.declared import (
    Declared,
    DeclaredComposite,
    DeclaredEnum,
    DeclaredField,
    DeclaredMessage,
    DeclaredSchema,
    DeclaredSet,
    DeclaredType,
)
from aerowire.codegen.sbe.reader.report import Report


def check_versions(report: Report, schema: DeclaredSchema) -> None:
    """Report each declaration whose sinceVersion is above the schema's version."""
    rule = _VersionRule(report, schema.version)
    for one in schema.types.values():
        rule.check_type(one, "")
    for message in schema.messages.values():
        rule.check(message, "")
        for field in message.members:
            rule.check_field(field, f"{message.name}.")


class _VersionRule:
    def __init__(self, report: Report, version: int) -> None:
        self._report = report
        self._version = version

    def check(self, declared: Declared, path: str) -> None:
        if declared.since_version > self._version:
            message = f"{path}{declared.name} has sinceVersion {declared.since_version}, but the schema has version {self._version}"
            self._report.error("newer-than-schema", declared.element, message, "sinceVersion")

    def check_type(self, declared: DeclaredType, path: str) -> None:
        self.check(declared, path)
        within = f"{path}{declared.name}."
        if isinstance(declared, DeclaredEnum):
            for value in declared.values.values():
                self.check(value, within)
        elif isinstance(declared, DeclaredSet):
            for choice in declared.values.values():
                self.check(choice, within)
        elif isinstance(declared, DeclaredComposite):
            for member in declared.members.values():
                self.check_type(member, within)

    def check_field(self, field: DeclaredField, path: str) -> None:
        self.check(field, path)
        for member in field.members or ():
            self.check_field(member, f"{path}{field.name}.")


def restrict(schema: DeclaredSchema, version: int) -> None:
    """Make a checked schema what it was in `version`: drop messages, fields and types that are newer."""
    if version >= schema.version:
        return
    schema.version = version
    schema.types = {name: one for name, one in schema.types.items() if one.since_version <= version}
    schema.messages = {id: one for id, one in schema.messages.items() if one.since_version <= version}
    for message in schema.messages.values():
        _restrict_message(message, version)


def _restrict_message(message: DeclaredMessage, version: int) -> None:
    message.members = _restrict_members(message.members, version)
    message.computed_block_length = root_block_length(message.members)


def _restrict_members(members: list[DeclaredField], version: int) -> list[DeclaredField]:
    kept = [member for member in members if member.since_version <= version]
    for member in kept:
        if member.members is not None:
            member.members = _restrict_members(member.members, version)
            member.computed_block_length = max(member.block_length, _end(member.members))
    return kept


def _end(members: list[DeclaredField]) -> int:
    fixed = [one for one in members if one.members is None and not one.is_data]
    return max([0, *(one.computed_offset + _size(one) for one in fixed)])


def _size(field: DeclaredField) -> int:
    return 0 if field.type is None or field.presence is Presence.CONSTANT else field.type.encoded_length
