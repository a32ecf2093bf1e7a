"""What changed from one version of a message schema to another, and whom each change breaks.

A message may be read by a program that knows the other schema: an old reader gets new messages, a new reader gets old ones.  SBE 1.0
lets a schema grow where both still work: fields at the end of a block, groups and data at the end of a message, values, choices and
messages.  Everything else breaks one of them.  This module compares the schemas as wholes; blocks and types have modules of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aerowire.codegen.sbe.comparison.blocks import compare_messages
from aerowire.codegen.sbe.comparison.changes import BOTH, NEW, Change, Changes, Grade, Side
from aerowire.codegen.sbe.comparison.types import compare_composites, compare_types
from aerowire.codegen.sbe.ir import MessageSchema

# What a reader of the other schema meets in a message, so that the schema's version has to tell the two apart.
_ADDITIONS = ("field-added", "group-added", "data-added")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two schemas and what differs, in the order schema, header, types, messages."""

    old: MessageSchema
    new: MessageSchema
    changes: tuple[Change, ...]

    @property
    def is_compatible(self) -> bool:
        """Whether every reader of either schema reads the messages of both."""
        return not any(change.breaks for change in self.changes)

    def breaking(self, side: Side) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if side in change.breaks)

    def graded(self, grade: Grade) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.grade is grade)


def compare_schemas(old: MessageSchema, new: MessageSchema) -> Comparison:
    """Compare two schemas that were read; the result does not depend on the order in which types are declared."""
    header = Changes("message header").at(old.header.type, new.header.type)
    compare_composites(header, old.header.type, new.header.type, None)
    header.metadata("", old.header.type, new.header.type)
    types = list(compare_types(old, new))
    messages = list(compare_messages(old, new))
    below = [*header.found, *types, *messages]
    return Comparison(old, new, (*_attributes(old, new, below), *below))


def _attributes(old: MessageSchema, new: MessageSchema, below: list[Change]) -> Iterator[Change]:
    changes = Changes("schema", old.location, new.location)
    if old.id != new.id:
        changes.add("schema-id-changed", f"id {old.id} became {new.id}", "readers refuse messages of another schema", BOTH)
    if old.byte_order != new.byte_order:
        what = f"byte order {old.byte_order} became {new.byte_order}"
        changes.add("byte-order-changed", what, "every number is read backwards", BOTH)
    _version(changes, old, new, below)
    changes.text("package", old.package, new.package)
    changes.text("semantic version", old.semantic_version, new.semantic_version)
    changes.text("description", old.description, new.description)
    yield from changes.found


def _version(changes: Changes, old: MessageSchema, new: MessageSchema, below: list[Change]) -> None:
    if new.version > old.version:
        changes.note("version-raised", f"version {old.version} became {new.version}")
    elif new.version < old.version:
        what = f"version {old.version} became {new.version}"
        changes.add("version-lowered", what, "new readers take old messages for newer than they are", NEW)
    elif any(change.kind in _ADDITIONS for change in below):
        what = f"version {old.version} was not raised, although fields, groups or data were added"
        changes.add("version-not-raised", what, "new readers cannot tell which messages lack them", NEW)
    elif any(change.grade is not Grade.NOTE for change in below):
        changes.note("version-not-raised", f"version {old.version} was not raised, although the schema changed")
