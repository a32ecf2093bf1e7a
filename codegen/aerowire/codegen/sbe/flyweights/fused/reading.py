"""The statements that read a block with all behind it."""

from __future__ import annotations

from collections.abc import Sequence

from aerowire.codegen.sbe.flyweights.fused.shared import Shared, in_row
from aerowire.codegen.sbe.flyweights.nulls import none_if, null_condition
from aerowire.codegen.sbe.flyweights.part_properties import data_encoding, group_stem
from aerowire.codegen.sbe.flyweights.rows import Row
from aerowire.codegen.sbe.flyweights.text import INDENT, joined, literal, spread_flat
from aerowire.codegen.sbe.flyweights.values import Owner, errors_of, is_marked
from aerowire.codegen.sbe.ir import Block, Composite, Data, Group
from aerowire.codegen.sbe.naming import property_names


class Reading:
    """The statements that read a block with all behind it, at one place."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.module = shared.module
        self.lines: list[str] = []
        self.has_bytes = False  # data that is no text, which is read in one of two ways

    def local(self, start: str) -> str:
        return self.shared.local(start)

    def values(self, of: Owner, target: str, row: Row, base: int, after: list[str], before: list[str]) -> list[str]:
        """Put the values of a block or composite into a row; what has to be done with them goes to `before` and `after`.

        Returns the conditions under which a composite is null throughout, of those that are asked.
        """
        is_asked = self.module.model.is_asked(of)
        conditions: list[str] = []
        for value in sorted(self.module.model.values(of), key=lambda one: one.offset):
            if value.is_constant:
                continue
            if isinstance(value.type, Composite):
                inner = self.local("c")
                kind = self.module.use_class(value.class_name, "composites")
                before.append(f"{inner} = {target}.{value.name} = {self.module.use('_new')}({kind})")
                nulls = self.values(value.type, inner, row, base + value.offset, after, before)
                after += none_if(nulls, f"{target}.{value.name}") if value.is_nullable else []
                conditions += nulls
                row.pad(base + value.offset + value.size)
                continue
            if is_asked and value.size:
                conditions.append(null_condition(self.module, value, f"{target}.{value.name}"))
            raw = self.local("v")
            if value.kind == "numbers":
                after.append(f"{target}.{value.name} = {self.module.whole(value.code)}.unpack({raw})")
            else:
                decoded = self.module.decoded(value, raw)
                if decoded == raw:
                    raw = f"{target}.{value.name}"
                else:
                    after.append(f"{target}.{value.name} = {decoded}")
            row.put(base + value.offset, in_row(value), value.size, raw)
        return conditions

    def block(self, block: Block, stem: str, target: str, row: Row, at: str, checks: Sequence[str] = ()) -> None:
        """A block at `at`, behind what the row has already; then its groups and data."""
        before: list[str] = []
        after: list[str] = []
        start, is_message = row.size, target == "self"
        self.values(block, target, row, start, after, before)
        row.pad(start + block.block_length)
        parts: list[Group | Data] = [*block.groups, *block.data]
        first = self._head(parts[0], row) if parts else ("", "")
        self.lines += before
        if row.targets:
            call = f"{self.shared.codec('READ', row.code, 'unpack_from')}(view, {at})"
            self.lines += assignment(row.targets, call)
        elif row.size:
            self.lines.append(f"{self.shared.codec('READ', row.code, 'unpack_from')}(view, {at})")
        self.lines += checks
        self.lines += after
        if not parts:
            if not is_message:
                self.lines.append(f"at = {at} + {row.size}")
            return
        if not (is_message and len(parts) == 1 and _takes_no_bytes(parts[0])):
            self.lines.append(f"at = {at} + {row.size}" if row.size else f"at = {at}")
        for index, part in enumerate(parts):
            head = first
            if index:
                row = Row()
                head = self._head(part, row)
                self.lines += assignment(row.targets, f"{self.shared.codec('READ', row.code, 'unpack_from')}(view, at)")
                self.lines.append(f"at += {row.size}")
            if isinstance(part, Group):
                self._group(block, stem, part, target, head)
            else:
                self._data(block, part, target, head[1])
        if is_message and self.lines[-1] == "at = end":
            self.lines.pop()  # nobody asks where a message ends

    def _head(self, part: Group | Data, row: Row) -> tuple[str, str]:
        """Put the numbers in front of a group or data into a row; returns the names of block length, if it is read, and count or length."""
        if isinstance(part, Data):
            size = self.local("n")
            row.put_length(part, size)
            return "", size
        length, count = self.local("b"), self.local("n")
        row.put_dimension(part, length, count)
        return (length if part.block_length_type.size else "", count)

    def _data(self, block: Block, data: Data, target: str, size: str) -> None:
        name = property_names(block)[data.name]
        encoding = data_encoding(data)
        least = f"{size} < 0 or " if data.length_type.primitive.signed else ""
        irregular = self.module.use("_IrregularError")
        self.lines += [f"end = at + {size}", f"if {least}end > len(view):", f"{INDENT}raise {irregular}"]
        read = (
            f"str(view[at:end], {literal(encoding)}, {literal(errors_of(encoding))})"
            if encoding
            else "view[at:end] if is_bytes else view[at:end].tobytes()"
        )
        self.has_bytes |= not encoding
        if is_marked(encoding):
            read = f"{self.module.use('_marked_text_of')}(view[at:end], {literal(encoding)})"
        self.lines += [f"{target}.{name} = {read}", "at = end"]

    def _group(self, block: Block, stem: str, group: Group, target: str, head: tuple[str, str]) -> None:
        name = property_names(block)[group.name]
        entry = group_stem(self.module.model, stem, group)
        length, count = head
        checks = [f"{length} != {group.block_length}"] if length else []
        checks += [f"{count} < 0"] if group.count_type.primitive.signed else []
        irregular = self.module.use("_IrregularError")
        rows = self.local("rows")
        if group.groups or group.data:
            function = self._function(group, entry)
            if checks:
                self.lines += [f"if {' or '.join(checks)}:", f"{INDENT}raise {irregular}"]
            self.lines.append(f"{target}.{name}, at = {function}(view, at, {count})")
            return
        if not group.block_length:
            checks.append(count)
            self.lines += [f"if {' or '.join(checks)}:", f"{INDENT}raise {irregular}", f"{target}.{name} = []"]
            return
        checks.append("end > len(view)")
        self.lines += [f"end = at + {count} * {group.block_length}", f"if {' or '.join(checks)}:", f"{INDENT}raise {irregular}"]
        self.lines.append(f"{rows}: list[{entry}] = []")
        inner = Row()
        before: list[str] = []
        after: list[str] = []
        row = self.local("row")
        self.values(group, row, inner, 0, after, before)
        inner.pad(group.block_length)
        codec = self.shared.codec("ROWS", inner.code, "iter_unpack")
        self.lines.append(f"for values in {codec}(view[at:end]):")
        new = self.module.use("_new")
        unpacked = assignment(inner.targets, "values") if inner.targets else []
        inside = [f"{row} = {new}({entry})", *before, *unpacked, *after, f"{rows}.append({row})"]
        self.lines += [f"{INDENT}{line}" for line in inside]
        self.lines += [f"{target}.{name} = {rows}", "at = end"]

    def _function(self, group: Group, entry: str) -> str:
        """A function that reads the entries of a group that has more than its block."""
        name = self.shared.function_name("read")
        body = Reading(self.shared)
        body.block(group, entry, "entry", Row(), "at")
        is_bytes = ["    is_bytes = type(view) is bytes"] if body.has_bytes else []
        new = self.module.use("_new")
        self.shared.functions += [
            "",
            "",
            *spread_flat(f"def {name}(", f"view: {self.module.use('_Any')}, at: int, count: int", f") -> tuple[list[{entry}], int]:", 0),
            *is_bytes,
            f"    rows: list[{entry}] = []",
            "    for _ in range(count):",
            f"        entry = {new}({entry})",
            *(f"        {line}" for line in body.lines),
            "        rows.append(entry)",
            "    return rows, at",
        ]
        return name


def _takes_no_bytes(part: Group | Data) -> bool:
    """Whether what stands in front of it is all there is, so that it does not matter where it starts."""
    return isinstance(part, Group) and not (part.block_length or part.groups or part.data)


def assignment(targets: list[str], call: str) -> list[str]:
    """A tuple assigned from a call, on one line or a target on each."""
    line = f"{joined(targets)} = {call}" if len(targets) > 1 else f"({targets[0]},) = {call}"
    if len(line) <= 110:
        return [line]
    return ["(", *(f"{INDENT}{one}," for one in targets), f") = {call}"]
