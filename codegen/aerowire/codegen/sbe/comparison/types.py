"""What changed in the types of a message schema: numbers and arrays, enums, sets, composites, and the values that have them.

A type that both schemas declare under one name is compared once, there; a value whose type became another one is compared where the
value is.  Knows nothing of blocks and messages, except which types they use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from aerowire.codegen.sbe.comparison.changes import BOTH, NEW, OLD, Change, Changes, match_items
from aerowire.codegen.sbe.ir import (
    Composite,
    EncodedType,
    Enum,
    Field,
    FlagSet,
    Member,
    MessageSchema,
    Named,
    Number,
    Presence,
    Type,
    walk_blocks,
)

NamedT = TypeVar("NamedT", bound=Named)
# Encodings whose every text has the same bytes in the others.
_NARROW = ("ASCII", "US-ASCII")
_WIDE = ("UTF-8", "ISO-8859-1", "WINDOWS-1252")


def compare_types(old: MessageSchema, new: MessageSchema) -> Iterator[Change]:
    """Compare the types that the schemas declare, by name, whatever their order; the header is not one of them."""
    header = {old.header.type.name, new.header.type.name}
    matched = match_items([one for one in old.types if one.name not in header], [one for one in new.types if one.name not in header])
    used = used_types(old) & used_types(new)
    framing = framing_types(old) | framing_types(new)
    for one, other in matched.pairs:
        changes = Changes(f"type {one.name}").at(one, other)
        compare_type(changes, one, other, None if one.name in framing else old.version)
        if one.since_version != other.since_version:
            changes.note("since-changed", f"since version {one.since_version} became {other.since_version}")
        changes.metadata("", one, other)
        yield from changes.found if one.name in used else map(_unused, changes.found)
    for one in matched.removed:
        changes = Changes(f"type {one.name}").at(one, None)
        changes.note("type-removed", f"{describe_type(one)} was removed")
        yield from changes.found
    for one in matched.added:
        changes = Changes(f"type {one.name}").at(None, one)
        changes.note("type-added", f"{describe_type(one)} was added")
        yield from changes.found


def framing_types(schema: MessageSchema) -> set[str]:
    """The names of the composites that stand in front of groups and data."""
    blocks = [block for message in schema.messages for block in walk_blocks(message)]
    return {group.dimension.name for block in blocks for group in block.groups} | {
        data.type.name for block in blocks for data in block.data
    }


def used_types(schema: MessageSchema) -> set[str]:
    """The names of the types that fields, groups and data have, and of those that these refer to."""
    found = framing_types(schema)
    waiting = [field.type for message in schema.messages for block in walk_blocks(message) for field in block.fields]
    found.update(one.name for one in waiting)
    while waiting:
        one = waiting.pop()
        if isinstance(one, Composite):
            waiting += [member.type for member in one.members]
            found.update(member.reference for member in one.members)
    return found


def _unused(change: Change) -> Change:
    if change.is_note:
        return change
    return replace(change, breaks=(), is_note=True, why="no message of both schemas uses the type")


def compare_value_types(changes: Changes, subject: str, old: Type, new: Type, old_version: int | None) -> None:
    """Compare the types of a value that are not declared under one name; `old_version` as for `compare_composites`."""
    before = len(changes.found)
    compare_type(changes, old, new, old_version, f"{subject}: ")
    if old.name != new.name and not any(change.kind == "type-changed" for change in changes.found[before:]):
        changes.note("type-renamed", f"{subject}: type {old.name} became {new.name}, which has the same bytes")


def compare_type(changes: Changes, old: Type, new: Type, old_version: int | None, subject: str = "") -> None:
    """Compare what two types make of bytes; `subject` begins each line, `old_version` is as for `compare_composites`."""
    if isinstance(old, Composite) and isinstance(new, Composite):
        compare_composites(changes, old, new, old_version, subject)
    elif _shape(old) != _shape(new):
        why = "each side reads another number of bytes" if old.size != new.size else "each side takes the bytes for something else"
        changes.add("type-changed", f"{subject}{_became(old, new)}", why, BOTH)
    elif isinstance(old, Enum) and isinstance(new, Enum):
        _compare_enums(changes, old, new, subject)
    elif isinstance(old, FlagSet) and isinstance(new, FlagSet):
        _compare_sets(changes, old, new, subject)
    elif isinstance(old, EncodedType) and isinstance(new, EncodedType):
        _compare_numbers(changes, old, new, subject)
    else:
        changes.note("type-changed", f"{subject}{_became(old, new)}", "the bytes are the same")


def _shape(of: Type) -> tuple[str, int]:
    """What a value is on the wire; a composite is like no other."""
    if isinstance(of, Composite):
        return "composite", of.size
    return of.primitive.name, of.length if isinstance(of, EncodedType) else 1


def _became(old: Type, new: Type) -> str:
    """Say what a type was and is; a name that is still the same stands in the line already."""
    if old.name == new.name:
        return f"{_kind(old)} became {_kind(new)}"
    return f"{describe_type(old)} became {describe_type(new)}"


def describe_type(of: Type) -> str:
    """Say what a type is, in a few words."""
    kind = _kind(of)
    return kind if of.name == kind else f"{of.name} ({kind})"


def _kind(of: Type) -> str:
    if isinstance(of, Composite):
        return f"composite of {of.size} bytes"
    if isinstance(of, EncodedType):
        return of.primitive.name if of.length == 1 else f"{of.primitive.name}[{of.length}]"
    return f"{'enum' if isinstance(of, Enum) else 'set'} over {of.primitive.name}"


def _compare_numbers(changes: Changes, old: EncodedType, new: EncodedType, subject: str) -> None:
    if not (_same(old.minimum, new.minimum) and _same(old.maximum, new.maximum)):
        what = f"{subject}range {old.minimum} to {old.maximum} became {new.minimum} to {new.maximum}"
        changes.note("range-changed", what, "a reader that checks it may refuse what the other side writes")
    compare_encodings(changes, subject, old.character_encoding, new.character_encoding)


def compare_encodings(changes: Changes, subject: str, old: str, new: str) -> None:
    """Compare the encodings of a text, which are empty where it is bytes."""
    one, other = old.upper(), new.upper()
    if one == other or (one in _NARROW and other in _NARROW):
        return
    what = f"{subject}character encoding {old or 'none'} became {new or 'none'}"
    if not one or not other:
        changes.note("encoding-changed", what, "the bytes are the same")
    elif one in _NARROW and other in _WIDE:
        changes.add("encoding-changed", what, "old readers cannot read the characters that are new", OLD)
    elif one in _WIDE and other in _NARROW:
        changes.add("encoding-changed", what, "new readers cannot read the characters that were given up", NEW)
    else:
        changes.add("encoding-changed", what, "each side reads other characters", BOTH)


def _compare_enums(changes: Changes, old: Enum, new: Enum, subject: str) -> None:
    _compare_numbered(changes, old.values, new.values, subject, _Numbered("value", "", "number", lambda one: one.value))
    if old.null != new.null:
        changes.note("null-changed", f"{subject}null value {old.null} became {new.null}")


def _compare_sets(changes: Changes, old: FlagSet, new: FlagSet, subject: str) -> None:
    _compare_numbered(changes, old.choices, new.choices, subject, _Numbered("choice", "bit ", "bit", lambda one: one.bit))


@dataclass(frozen=True, slots=True)
class _Numbered(Generic[NamedT]):
    """What names a number: what it is called, what stands before its number, and what readers get."""

    noun: str
    before: str
    got: str
    number: Callable[[NamedT], int]


def _compare_numbered(changes: Changes, old: Sequence[NamedT], new: Sequence[NamedT], subject: str, kind: _Numbered[NamedT]) -> None:
    noun, before, number = kind.noun, kind.before, kind.number
    matched = match_items(old, new, number)
    for one, other in matched.pairs:
        part, what = changes.at(one, other), f"{subject}{noun} {one.name}"
        if number(one) != number(other):
            changed = f"{what} {before}{number(one)} became {number(other)}"
            part.add(f"{noun}-renumbered", changed, f"each side takes it for another {noun}", BOTH)
        if one.name != other.name:
            part.note(f"{noun}-renamed", f"{what} ({before}{number(one)}) became {other.name}")
        if one.since_version != other.since_version:
            part.note("since-changed", f"{what}: since version {one.since_version} became {other.since_version}")
        part.metadata(what, one, other)
    for one in matched.removed:
        why = "old messages may hold it, and new readers have no name for it"
        changes.at(one, None).add(f"{noun}-removed", f"{subject}{noun} {one.name} ({before}{number(one)}) was removed", why, NEW)
    for one in matched.added:
        why = f"old readers get a {kind.got} that they have no name for"
        changes.at(None, one).add(f"{noun}-added", f"{subject}{noun} {one.name} ({before}{number(one)}) was added", why)


def compare_composites(changes: Changes, old: Composite, new: Composite, old_version: int | None, subject: str = "") -> None:
    """Compare composites member by member.

    SBE does not list composites among what may grow, but one does no harm where there was room behind it: `old_version` is what a new
    member's sinceVersion must be above.  It is None for a composite in front of a message, a group or data, which readers take as it is.
    """
    matched = match_items(old.members, new.members, lambda one: one.offset)
    for one, other in matched.pairs:
        part, name = changes.at(one, other), f"{subject}member {one.name}"
        if one.name != other.name:
            part.note("member-renamed", f"{name} became {other.name}")
        compare_values(part, name, one, other)
        _compare_member_types(part, name, one, other, old_version)
        part.metadata(name, one, other)
    for one in matched.removed:
        part, what = changes.at(one, None), f"{subject}member {one.name} was removed"
        if one.presence is Presence.CONSTANT:
            part.note("member-removed", what, "a constant is in no message")
        else:
            part.add("member-removed", what, "old readers read what is no longer written", OLD)
    for one in matched.added:
        part, what = changes.at(None, one), f"{subject}member {one.name} was added"
        if one.presence is Presence.CONSTANT:
            part.note("member-added", what, "a constant is in no message")
        elif old_version is not None and one.since_version > old_version:
            part.add("member-added", f"{what} at byte {one.offset}", f"absent before version {one.since_version}")
        else:
            part.add("member-added", f"{what} at byte {one.offset}", "new readers read in old messages what was not written", NEW)
    if old.size != new.size:
        what = f"{subject}composite of {old.size} bytes became one of {new.size}"
        if old_version is None:
            changes.add("composite-resized", what, "each side looks for what follows in another place", BOTH)
        else:
            changes.note("composite-resized", what, "SBE does not list this among what may grow; what stands behind it moves")


def _compare_member_types(changes: Changes, name: str, old: Member, new: Member, old_version: int | None) -> None:
    """Compare the types of two members; one that both refer to by its name is compared there."""
    if old.reference and old.reference == new.reference:
        return
    before = len(changes.found)
    compare_type(changes, old.type, new.type, old_version, f"{name}: ")
    if old.reference and new.reference and len(changes.found) == before:
        changes.note("type-renamed", f"{name}: type {old.reference} became {new.reference}, which has the same bytes")


def compare_values(changes: Changes, subject: str, old: Field | Member, new: Field | Member) -> None:
    """Compare where values stand and when they are null, absent or constant; not their types."""
    if Presence.CONSTANT in (old.presence, new.presence):
        _compare_constants(changes, subject, old, new)
        return
    if old.offset != new.offset:
        what = f"{subject} moved from byte {old.offset} to {new.offset}"
        changes.add("moved", what, "each side reads other bytes", BOTH)
    compare_since(changes, subject, old.since_version, new.since_version)
    null = _null(old.type), _null(new.type)
    if old.presence is not new.presence:
        what = f"{subject}: presence {old.presence} became {new.presence}"
        is_optional = new.presence is Presence.OPTIONAL
        value = null[1] if is_optional else null[0]
        if value is None:
            changes.note("presence-changed", what, "such a type has no null value")
        elif is_optional:
            changes.add("presence-changed", what, f"old readers take null ({value}) for a value", OLD)
        else:
            changes.add("presence-changed", what, f"new readers take null ({value}) of old messages for a value", NEW)
    elif old.presence is Presence.OPTIONAL and None not in null and not _same(*null):
        what = f"{subject}: null value {null[0]} became {null[1]}"
        changes.add("null-changed", what, "each side takes the other's null for a value", BOTH)


def compare_since(changes: Changes, subject: str, old: int, new: int) -> None:
    """Compare since when there is something; what a reader believes of it must be what writers did."""
    if old == new:
        return
    what = f"{subject}: since version {old} became {new}"
    if new > old:
        changes.add("since-changed", what, f"new readers pass over it in messages of {_versions(old, new)}", NEW)
    else:
        changes.add("since-changed", what, f"new readers look for it in messages of {_versions(new, old)}, which lack it", NEW)


def _versions(first: int, behind: int) -> str:
    return f"version {first}" if first == behind - 1 else f"versions {first} to {behind - 1}"


def _compare_constants(changes: Changes, subject: str, old: Field | Member, new: Field | Member) -> None:
    if old.presence is not new.presence:
        what = f"{subject}: presence {old.presence} became {new.presence}"
        changes.add("presence-changed", what, "it takes bytes on one side only", BOTH)
    elif _constant(old) != _constant(new):
        what = f"{subject}: constant {_shown_constant(old)} became {_shown_constant(new)}"
        changes.add("constant-changed", what, "it is in no message, so each side goes by its own", BOTH)


def _constant(of: Field | Member) -> Number | str | None:
    if isinstance(of, Field):
        return of.constant
    return of.type.constant if isinstance(of.type, EncodedType) else None


def _shown_constant(of: Field | Member) -> str:
    return f"{_constant(of)}" if isinstance(of, Member) or not of.value_ref else f"{of.value_ref} ({_constant(of)})"


def _null(of: Type) -> Number | None:
    return of.null if isinstance(of, EncodedType | Enum) else None


def _same(one: Number | None, other: Number | None) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other):
        return True
    return one == other
