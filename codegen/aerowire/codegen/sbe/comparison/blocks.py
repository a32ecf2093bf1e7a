"""What changed in the messages of a schema: fields at offsets, then groups, then data, the same within each entry of a group.

A block may grow at its end, because its length is in front of it.  Groups and data say nothing of what comes behind the last of them,
so more of them can follow at the end of a message only.  SBE 1.0 allows groups before data, and groups and data at the end of an entry,
too; but as nothing in a message says that they are there, no reader of the older schema can pass over them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from aerowire.codegen.sbe.comparison.changes import BOTH, NEW, OLD, Change, Changes, Match, Side, match_items
from aerowire.codegen.sbe.comparison.types import compare_since, compare_value_types, compare_values
from aerowire.codegen.sbe.ir import Block, Data, Field, Group, MessageSchema, Presence, Type


@dataclass(frozen=True, slots=True)
class _Block:
    """Two versions of a message or of a group's entry, and what is needed to judge their differences.

    `prefix` stands before the names in it; `shared` are the types that are compared elsewhere.
    """

    old: Block
    new: Block
    old_version: int
    shared: frozenset[str]
    prefix: str = ""

    @property
    def is_message(self) -> bool:
        return not self.prefix

    def compare_types(self, changes: Changes, subject: str, old: Type, new: Type, *, is_framing: bool = False) -> None:
        """Compare the types of a value, unless they are declared under one name in both schemas, and compared there."""
        if old.name != new.name or old.name not in self.shared:
            compare_value_types(changes, subject, old, new, None if is_framing else self.old_version)

    def is_known(self, since_version: int) -> bool:
        """Whether a new reader can tell by its version that an old message lacks it."""
        return since_version > self.old_version


def compare_messages(old: MessageSchema, new: MessageSchema) -> Iterator[Change]:
    """Compare messages by name, or else by template id."""
    shared = frozenset({one.name for one in old.types} & {one.name for one in new.types})
    matched = match_items(old.messages, new.messages, lambda one: one.id)
    for one, other in matched.pairs:
        changes = Changes(f"message {one.name} ({one.id})").at(one, other)
        if one.id != other.id:
            changes.add("template-id-changed", f"template id {one.id} became {other.id}", "each side takes it for another message", BOTH)
        if one.name != other.name:
            changes.note("message-renamed", f"name {one.name} became {other.name}")
        if one.since_version != other.since_version:
            changes.note("since-changed", f"since version {one.since_version} became {other.since_version}")
        changes.metadata("", one, other)
        _compare_blocks(changes, _Block(one, other, old.version, shared))
        yield from changes.found
    for one in matched.removed:
        changes = Changes(f"message {one.name} ({one.id})").at(one, None)
        changes.add("message-removed", "it was removed", "new readers do not know it when an old writer sends it", NEW)
        yield from changes.found
    for one in matched.added:
        changes = Changes(f"message {one.name} ({one.id})").at(None, one)
        changes.add("message-added", "it was added", "old readers pass over what they do not know")
        yield from changes.found


def _compare_blocks(changes: Changes, block: _Block) -> None:
    before = len(changes.found)
    _compare_fields(changes, block)
    old, new = block.old.block_length, block.new.block_length
    found = changes.found[before:]
    subject = f"group {block.prefix[:-1]}: " if block.prefix else ""
    least = block.new.least_block_length(block.old_version)
    if old < least and not any(Side.NEW in change.breaks for change in found):
        why = f"new readers find the block of old messages too short, as they expect {least} bytes"
        changes.add("block-length-changed", f"{subject}block length {old} became {new}", why, NEW)
    elif old != new and not any(change.kind in _EXPLAINING for change in found):
        changes.note("block-length-changed", f"{subject}block length {old} became {new}", "readers go by the length in the message")
    _compare_groups(changes, block)
    _compare_data(changes, block)


# What a change of the block length follows from.
_EXPLAINING = ("field-added", "field-removed", "moved", "type-changed", "presence-changed")


def _compare_fields(changes: Changes, block: _Block) -> None:
    matched = match_items(block.old.fields, block.new.fields, lambda one: one.id)
    for one, other in matched.pairs:
        part, subject = changes.at(one, other), f"field {block.prefix}{one.name}"
        _compare_names(part, subject, one, other)
        compare_values(part, subject, one, other)
        block.compare_types(part, subject, one.type, other.type)
        _compare_times(part, subject, one, other)
        part.metadata(subject, one, other)
    for one in matched.removed:
        _report_removed_field(changes.at(one, None), block, one)
    moved = max((other.offset for one, other in matched.pairs if other.offset != one.offset), default=0)
    for one in matched.added:
        _report_added_field(changes.at(None, one), block, one, is_before_moved=one.offset < moved)


def _compare_names(changes: Changes, subject: str, old: Field | Group | Data, new: Field | Group | Data) -> None:
    if old.name != new.name:
        changes.note("renamed", f"{subject} became {new.name}")
    if old.id != new.id:
        changes.note("id-changed", f"{subject}: id {old.id} became {new.id}", "it is in no message")


def _compare_times(changes: Changes, subject: str, old: Field, new: Field) -> None:
    for name, one, other in (("time unit", old.time_unit, new.time_unit), ("epoch", old.epoch, new.epoch)):
        if one and other and one != other:
            kind, what = f"{name.replace(' ', '-')}-changed", f"{subject}: {name} {one} became {other}"
            changes.add(kind, what, "each side takes it for another time", BOTH)
        else:
            changes.text(name, one, other, subject)


def _report_removed_field(changes: Changes, block: _Block, gone: Field) -> None:
    what = f"field {block.prefix}{gone.name} was removed"
    if gone.presence is Presence.CONSTANT:
        changes.note("field-removed", what, "a constant is in no message")
    elif gone.end > block.new.block_length:
        changes.add("field-removed", what, "old readers find the block too short", OLD)
    else:
        changes.add("field-removed", what, "old readers read what is no longer written", OLD)


def _report_added_field(changes: Changes, block: _Block, more: Field, *, is_before_moved: bool) -> None:
    if more.presence is Presence.CONSTANT:
        changes.note("field-added", f"field {block.prefix}{more.name} was added", "a constant is in no message")
        return
    what = f"field {block.prefix}{more.name} was added at byte {more.offset}"
    if is_before_moved:
        changes.add("field-added", what, "it is not at the end of the block, and moves others", BOTH)
    elif block.is_known(more.since_version):
        changes.add("field-added", what, f"absent before version {more.since_version}")
    else:
        changes.add("field-added", what, _unmarked(block, more.since_version), NEW)


def _compare_groups(changes: Changes, block: _Block) -> None:
    matched = match_items(block.old.groups, block.new.groups, lambda one: one.id)
    _compare_order(changes, "groups", block.prefix, matched, block.new.groups)
    for one, other in matched.pairs:
        part, subject = changes.at(one, other), f"group {block.prefix}{one.name}"
        _compare_names(part, subject, one, other)
        compare_since(part, subject, one.since_version, other.since_version)
        block.compare_types(part, f"{subject}: dimension", one.dimension, other.dimension, is_framing=True)
        part.metadata(subject, one, other)
        _compare_blocks(part, _Block(one, other, block.old_version, block.shared, f"{block.prefix}{one.name}."))
    for one in matched.removed:
        ends = block.is_message and not block.old.data and one is block.old.groups[-1]
        _report_removed(changes.at(one, None), "group", block, one, is_at_end=ends)
    last = _last(block.new.groups, matched.added)
    for one in matched.added:
        follows = one.name in last
        ends = block.is_message and not block.old.data and follows
        _report_added(changes.at(None, one), "group", block, one, is_allowed=follows, is_at_end=ends)


def _compare_data(changes: Changes, block: _Block) -> None:
    matched = match_items(block.old.data, block.new.data, lambda one: one.id)
    _compare_order(changes, "data", block.prefix, matched, block.new.data)
    for one, other in matched.pairs:
        part, subject = changes.at(one, other), f"data {block.prefix}{one.name}"
        _compare_names(part, subject, one, other)
        compare_since(part, subject, one.since_version, other.since_version)
        block.compare_types(part, subject, one.type, other.type, is_framing=True)
        part.metadata(subject, one, other)
    for one in matched.removed:
        _report_removed(changes.at(one, None), "data", block, one, is_at_end=block.is_message and one is block.old.data[-1])
    last = _last(block.new.data, matched.added)
    for one in matched.added:
        follows = one.name in last
        _report_added(changes.at(None, one), "data", block, one, is_allowed=follows, is_at_end=block.is_message and follows)


def _compare_order(changes: Changes, kind: str, prefix: str, matched: Match[Group] | Match[Data], new: Sequence[Group | Data]) -> None:
    was = [other.name for _, other in matched.pairs]
    kept = set(was)
    now = [one.name for one in new if one.name in kept]
    if was != now:
        of = f" of {prefix[:-1]}" if prefix else ""
        what = f"{kind}{of} {', '.join(was)} became {', '.join(now)}"
        changes.add("order-changed", what, "each side takes one for the other", BOTH)


def _last(all_of_them: Sequence[Group | Data], added: Sequence[Group | Data]) -> set[str]:
    """The names of those behind which nothing comes that was there before."""
    names = {one.name for one in added}
    return {one.name for one in takewhile(lambda one: one.name in names, reversed(all_of_them))}


def _report_removed(changes: Changes, kind: str, block: _Block, gone: Group | Data, *, is_at_end: bool) -> None:
    what = f"{kind} {block.prefix}{gone.name} was removed"
    if is_at_end:
        changes.add(f"{kind}-removed", what, "old readers look for it behind the end of the message", OLD)
    else:
        changes.add(f"{kind}-removed", what, "each side takes what follows for something else", BOTH)


def _report_added(changes: Changes, kind: str, block: _Block, more: Group | Data, *, is_allowed: bool, is_at_end: bool) -> None:
    what = f"{kind} {block.prefix}{more.name} was added"
    known = block.is_known(more.since_version)
    if is_at_end and known:
        changes.add(f"{kind}-added", what, f"absent before version {more.since_version}")
    elif is_at_end:
        changes.add(f"{kind}-added", what, _unmarked(block, more.since_version), NEW)
    else:
        place = "it is not at the end of the message" if block.is_message else "it is within the entries of a group"
        why = f"{place}, so old readers take it for what follows{', though SBE allows it' if is_allowed else ''}"
        changes.add(f"{kind}-added", what, why if known else f"{why}, and {_unmarked(block, more.since_version)}", OLD if known else BOTH)


def _unmarked(block: _Block, since_version: int) -> str:
    return f"new readers look for it in messages of version {block.old_version}, as its sinceVersion is {since_version}"
