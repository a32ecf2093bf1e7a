"""The statements that pack a block with all behind it."""

from __future__ import annotations

from aerowire.codegen.sbe.flyweights.fused.shared import Shared, in_row
from aerowire.codegen.sbe.flyweights.nulls import define_null_record
from aerowire.codegen.sbe.flyweights.part_properties import data_encoding, group_stem
from aerowire.codegen.sbe.flyweights.rows import Row
from aerowire.codegen.sbe.flyweights.text import INDENT, literal
from aerowire.codegen.sbe.flyweights.values import Owner, errors_of, is_marked
from aerowire.codegen.sbe.ir import Block, Composite, Data, Group
from aerowire.codegen.sbe.naming import property_names


class Writing:
    """The statements that pack a block with all behind it."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.module = shared.module
        self.lines: list[str] = []
        self.single: list[str] = []

    def local(self, start: str) -> str:
        return self.shared.local(start)

    def result(self) -> list[str]:
        call = self.single or ['b"".join(parts)']
        return [f"return {call[0]}", *call[1:]]

    def values(self, of: Owner, source: str, row: Row, base: int) -> None:
        for value in sorted(self.module.model.values(of), key=lambda one: one.offset):
            if value.is_constant:
                continue
            given = f"{source}.{value.name}"
            if isinstance(value.type, Composite):
                inner = self.local("c")
                self.lines.append(f"{inner} = {given}")
                if value.is_nullable:
                    self.lines += [f"if {inner} is None:", f"{INDENT}{inner} = {define_null_record(self.module, value)}"]
                elif value.may_be_none:
                    self.lines += [f"if {inner} is None:", f"{INDENT}raise {self.module.use('_IrregularError')}"]
                self.values(value.type, inner, row, base + value.offset)
                row.pad(base + value.offset + value.size)
                continue
            row.put(base + value.offset, in_row(value), value.size, self.module.encoded(value, given, in_row=True))

    def block(self, block: Block, stem: str, source: str, row: Row) -> None:
        """Pack a block behind what the row has already, with the head of the first part; then the parts."""
        start = row.size
        self.values(block, source, row, start)
        row.pad(start + block.block_length)
        parts: list[Group | Data] = [*block.groups, *block.data]
        local = self._head(block, parts[0], source, row) if parts else ""
        call = spread_call(f"{self.shared.codec('WRITE', row.code, 'pack')}(", row.targets, ")")
        if not parts and source == "self":
            self.single = call
            return
        self.lines += within("parts = [", call, "]", comma=",") if source == "self" else within("parts.append(", call, ")")
        for index, part in enumerate(parts):
            if index:
                row = Row()
                local = self._head(block, part, source, row)
                head = f"{self.shared.codec('WRITE', row.code, 'pack')}({', '.join(row.targets)})"
                if isinstance(part, Data):
                    self.lines.append(f"parts += ({head}, {local})")
                else:
                    self.lines.append(f"parts.append({head})")
            elif isinstance(part, Data):
                self.lines.append(f"parts.append({local})")
            if isinstance(part, Group):
                self._entries(part, group_stem(self.module.model, stem, part), local)

    def _head(self, block: Block, part: Group | Data, source: str, row: Row) -> str:
        """Fetch a part and put its length or its dimensions into a row; returns the local that holds it."""
        given = f"{source}.{property_names(block)[part.name]}"
        irregular = self.module.use("_IrregularError")
        if isinstance(part, Data):
            local = self.local("data")
            encoding = data_encoding(part)
            value = f"{given}.encode({literal(encoding)}, {literal(errors_of(encoding))})" if encoding else f"bytes(memoryview({given}))"
            if is_marked(encoding):
                value = f"{self.module.use('_marked_bytes_of')}({given}, {literal(encoding)})"
            self.lines += [f"{local} = {value}", f"if len({local}) > {part.max_length}:", f"{INDENT}raise {irregular}"]
            row.put_length(part, f"len({local})")
            return local
        local = self.local("rows")
        least, most = int(max(part.count_type.minimum, 0)), int(part.count_type.maximum)
        # Nothing may be an empty group but an empty list: text and dicts of nothing would go through the loop as well.
        check = f"not {max(least, 1)} <= len({local}) <= {most}" + ("" if least else f" and {local} != []")
        self.lines += [f"{local} = {given}", f"if {check}:", f"{INDENT}raise {irregular}"]
        row.put_dimension(part, str(part.block_length), f"len({local})")
        return local

    def _entries(self, group: Group, entry: str, rows: str) -> None:
        if group.groups or group.data:
            name = self.shared.function_name("write")
            body = Writing(self.shared)
            body.block(group, entry, "entry", Row())
            self.shared.functions += [
                "",
                "",
                f"def {name}(parts: list[bytes], rows: list[{entry}]) -> None:",
                "    for entry in rows:",
                *(f"        {line}" for line in body.lines),
            ]
            self.lines.append(f"{name}(parts, {rows})")
            return
        body = Writing(self.shared)
        row = Row()
        one = self.local("row")
        body.values(group, one, row, 0)
        row.pad(group.block_length)
        codec = self.shared.codec("WRITE", row.code, "pack")
        call = f"{codec}({', '.join(row.targets)})"
        if body.lines or len(call) > 80:
            inside = [*body.lines, *within("parts.append(", spread_call(f"{codec}(", row.targets, ")"), ")")]
            self.lines += [f"for {one} in {rows}:", *(f"{INDENT}{line}" for line in inside)]
            return
        self.lines.append(f"parts += [{call} for {one} in {rows}]")


def within(before: str, call: list[str], after: str, *, comma: str = "") -> list[str]:
    """A call between brackets, on one line if it is on one, else in lines of its own with `comma` behind."""
    if len(call) == 1:
        return [f"{before}{call[0]}{after}"]
    return [before, *(f"{INDENT}{line}" for line in call[:-1]), f"{INDENT}{call[-1]}{comma}", after]


def spread_call(before: str, items: list[str], after: str) -> list[str]:
    line = f"{before}{', '.join(items)}{after}"
    if len(line) <= 90:
        return [line]
    return [before, *(f"{INDENT}{item}," for item in items), after]
