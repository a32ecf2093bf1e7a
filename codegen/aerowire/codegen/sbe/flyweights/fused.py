"""The quick way between data classes and bytes: one `struct` call for each block.

It covers blocks of the lengths that the schema has, in a version that has everything.  Whatever else it meets (another
block length, an older version, bytes that are missing or wrong, a value that does not fit), the flyweights do it, or say why not.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

from aerowire.codegen.ir import FORMATS
from aerowire.codegen.sbe.flyweights.module import Module
from aerowire.codegen.sbe.flyweights.part_properties import data_encoding, group_stem
from aerowire.codegen.sbe.flyweights.rows import Row
from aerowire.codegen.sbe.flyweights.text import INDENT, byte_literal, joined, literal, spread_flat
from aerowire.codegen.sbe.flyweights.values import Value, errors_of, is_marked
from aerowire.codegen.sbe.ir import Block, Composite, Data, Group, Message, Presence, walk_blocks
from aerowire.codegen.sbe.naming import property_names

Owner = Block | Composite


def in_row(value: Value) -> str:
    """A row of numbers is taken as bytes, which have a codec of their own."""
    return f"{value.size}s" if value.kind in {"text", "numbers"} else value.code


class Fused:
    """Writes `decode` and `encode` of one message, and a function for each of its groups that is more than a row of blocks."""

    def __init__(self, module: Module, stem: str, message: Message) -> None:
        self.module = module
        self.stem = stem
        self.message = message
        self.count = 0
        self.names = 0
        self.locals = 0
        self.functions: list[str] = []

    def methods(self) -> list[str]:
        read, write = self._decode(), self._encode()
        return ["", *read, "", *write, "", *self._encode_into()]

    # -- reading ----------------------------------------------------------------------------------------------------------

    def _decode(self) -> list[str]:
        module = self.module
        header = module.model.schema.header
        row = Row()
        row.put(0, f"{header.size}s", header.size, "head")
        expected = f"{self.message.block_length}, {self.message.id}, {module.model.schema.id}, {newest_version(self.message)}"
        check = f"{module.use('_check_head')}({module.use_class('HEADER', 'header')}, head, offset, view, {expected})"
        irregular = f'head != {self._head()} or offset < 0 or not (is_bytes or view.format == "B")'
        body = Reading(self)
        body.block(self.message, self.stem, "self", row, "offset", [f"if {irregular}:", f"{INDENT}{check}"])
        stem = self.stem
        buffer = module.use("_Buffer")
        module.use("_read_record")
        return [
            "    @classmethod",
            f"    def decode(cls, buffer: {buffer}, offset: int = 0) -> {module.use('_Self')}:",
            '        """Read the message whose header starts at `offset`.  Raises SbeError when it is another or is damaged."""',
            f"        self = {module.use('_new')}(cls)",
            "        is_bytes = type(buffer) is bytes",
            "        try:",
            f"            view: {module.use('_Any')} = buffer if is_bytes else memoryview(buffer)",
            *(f"        {line}" if line else "" for line in indented(body.lines)),
            f"        except {module.use('_FAILURES')}:",
            f"            return _read_record(cls, {stem}Decoder().wrap_and_apply_header(buffer, offset))",
            "        return self",
        ]

    def _head(self) -> str:
        """The header of the message as it is written, a constant of the module."""
        schema, message = self.module.model.schema, self.message
        values = {"blockLength": message.block_length, "templateId": message.id, "schemaId": schema.id, "version": schema.version}
        image = bytearray(schema.header.size)
        for name, value in values.items():
            encoded = schema.header.encoded(name)
            if encoded.presence is not Presence.CONSTANT:
                struct.pack_into(self.module.model.order + FORMATS[encoded.primitive.name], image, schema.header.offset(name), value)
        return self.module.define("_HEAD", byte_literal(bytes(image)))

    # -- writing ----------------------------------------------------------------------------------------------------------

    def _encode(self) -> list[str]:
        module = self.module
        header = module.model.schema.header
        row = Row()
        row.put(0, f"{header.size}s", header.size, self._head())
        body = Writing(self)
        body.block(self.message, self.stem, "self", row)
        return [
            "    def encode(self) -> bytes:",
            '        """The bytes of the message with its header.  Raises SbeError when a value cannot be written."""',
            "        try:",
            *(f"        {line}" if line else "" for line in indented(body.lines)),
            *(f"            {line}" for line in body.result()),
            f"        except {module.use('_FAILURES')}:",
            f"            return {module.use('_encode_record')}(self, {self.stem}Encoder)",
        ]

    def _encode_into(self) -> list[str]:
        module = self.module
        module.use_class("HEADER", "header")
        return [
            f"    def encode_into(self, buffer: {module.use('_Buffer')}, offset: int = 0) -> int:",
            '        """Write the message with its header at `offset`; returns its length in bytes."""',
            f"        return {module.use('_put_bytes')}(self.encode(), buffer, offset, {literal(self.message.name)})",
        ]

    def local(self, start: str) -> str:
        self.locals += 1
        return f"{start}{self.locals}"

    def function_name(self, purpose: str) -> str:
        self.names += 1
        return f"_{purpose}_entries_{self.names}"

    def codec(self, purpose: str, code: str, method: str) -> str:
        self.count += 1
        return self.module.fused(f"{purpose}_{self.count}", code, method)


class Reading:
    """The statements that read a block with all behind it, at one place."""

    def __init__(self, fused: Fused) -> None:
        self.fused = fused
        self.module = fused.module
        self.lines: list[str] = []

    def local(self, start: str) -> str:
        return self.fused.local(start)

    def values(self, of: Owner, target: str, row: Row, base: int, after: list[str], before: list[str]) -> None:
        """Put the values of a block or composite into a row; what has to be done with them goes to `before` and `after`."""
        for value in sorted(self.module.model.values(of), key=lambda one: one.offset):
            if value.is_constant:
                continue
            if isinstance(value.type, Composite):
                inner = self.local("c")
                kind = self.module.use_class(value.class_name, "composites")
                before.append(f"{inner} = {target}.{value.name} = {self.module.use('_new')}({kind})")
                self.values(value.type, inner, row, base + value.offset, after, before)
                row.pad(base + value.offset + value.size)
                continue
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

    def block(self, block: Block, stem: str, target: str, row: Row, at: str, checks: Sequence[str] = ()) -> None:
        """A block at `at`, behind what the row has already; then its groups and data."""
        before: list[str] = []
        after: list[str] = []
        start = row.size
        self.values(block, target, row, start, after, before)
        row.pad(start + block.block_length)
        parts: list[Group | Data] = [*block.groups, *block.data]
        first = self._head(parts[0], row) if parts else ("", "", "")
        self.lines += before
        if row.targets:
            call = f"{self.fused.codec('READ', row.code, 'unpack_from')}(view, {at})"
            self.lines += assignment(row.targets, call)
        elif row.size:
            self.lines.append(f"{self.fused.codec('READ', row.code, 'unpack_from')}(view, {at})")
        self.lines += checks
        self.lines += after
        if not parts:
            if target != "self":
                self.lines.append(f"at = {at} + {row.size}")
            return
        self.lines.append(f"at = {at} + {row.size}" if row.size else f"at = {at}")
        for index, part in enumerate(parts):
            head = first
            if index:
                row = Row()
                head = self._head(part, row)
                self.lines += assignment(row.targets, f"{self.fused.codec('READ', row.code, 'unpack_from')}(view, at)")
                self.lines.append(f"at += {row.size}")
            if isinstance(part, Group):
                self._group(block, stem, part, target, head)
            else:
                self._data(block, part, target, head[1])
        if target == "self":
            self._drop_unused_end()

    def _drop_unused_end(self) -> None:
        """Nothing asks where the last part ends, or where one starts that has no bytes."""
        if self.lines[-1] == "at = end":
            self.lines.pop()
        uses = [index for index, line in enumerate(self.lines) if re.search(r"\bat\b", line)]
        if len(uses) == 1:
            del self.lines[uses[0]]

    def _head(self, part: Group | Data, row: Row) -> tuple[str, str, str]:
        """Put the numbers in front of a group or data into a row; returns their names."""
        base = row.size
        if isinstance(part, Data):
            size = self.local("n")
            row.put(base + part.length_offset, FORMATS[part.length_type.primitive.name], part.length_type.size, size)
            row.pad(base + part.data_offset)
            return "", size, ""
        length, count = self.local("b"), self.local("n")
        fields = [("blockLength", part.block_length_type, length), ("numInGroup", part.count_type, count)]
        for name, encoded, local in sorted(fields, key=lambda one: part.dimension.member(one[0]).offset):
            if encoded.size:
                row.put(base + part.dimension.member(name).offset, FORMATS[encoded.primitive.name], encoded.size, local)
        row.pad(base + part.dimension.size)
        return (length if part.block_length_type.size else "", count, "")

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
        if is_marked(encoding):
            read = f"{self.module.use('_marked_text_of')}(view[at:end], {literal(encoding)})"
        self.lines += [f"{target}.{name} = {read}", "at = end"]

    def _group(self, block: Block, stem: str, group: Group, target: str, head: tuple[str, str, str]) -> None:
        name = property_names(block)[group.name]
        entry = group_stem(self.module.model, stem, group)
        length, count, _ = head
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
        codec = self.fused.codec("ROWS", inner.code, "iter_unpack")
        self.lines.append(f"for values in {codec}(view[at:end]):")
        new = self.module.use("_new")
        unpacked = assignment(inner.targets, "values") if inner.targets else []
        inside = [f"{row} = {new}({entry})", *before, *unpacked, *after, f"{rows}.append({row})"]
        self.lines += [f"{INDENT}{line}" for line in inside]
        self.lines += [f"{target}.{name} = {rows}", "at = end"]

    def _function(self, group: Group, entry: str) -> str:
        """A function that reads the entries of a group that has more than its block."""
        name = self.fused.function_name("read")
        body = Reading(self.fused)
        body.block(group, entry, "entry", Row(), "at")
        is_bytes = ["    is_bytes = type(view) is bytes"] if any("is_bytes" in line for line in body.lines) else []
        new = self.module.use("_new")
        self.fused.functions += [
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


class Writing:
    """The statements that pack a block with all behind it."""

    def __init__(self, fused: Fused) -> None:
        self.fused = fused
        self.module = fused.module
        self.lines: list[str] = []
        self.single: list[str] = []

    def local(self, start: str) -> str:
        return self.fused.local(start)

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
                if value.may_be_none:
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
        call = spread_call(f"{self.fused.codec('WRITE', row.code, 'pack')}(", row.targets, ")")
        if not parts and source == "self":
            self.single = call
            return
        if source == "self":
            self.lines += (
                ["parts = [", *(f"{INDENT}{line}" for line in call[:-1]), f"{INDENT}{call[-1]}," if len(call) > 1 else "", "]"]
                if (len(call) > 1)
                else [f"parts = [{call[0]}]"]
            )
        else:
            self.lines += [f"parts.append({call[0]})"] if len(call) == 1 else ["parts.append(", *(f"{INDENT}{line}" for line in call), ")"]
        for index, part in enumerate(parts):
            if index:
                row = Row()
                local = self._head(block, part, source, row)
                head = f"{self.fused.codec('WRITE', row.code, 'pack')}({', '.join(row.targets)})"
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
        base = row.size
        irregular = self.module.use("_IrregularError")
        if isinstance(part, Data):
            local = self.local("data")
            encoding = data_encoding(part)
            value = f"{given}.encode({literal(encoding)}, {literal(errors_of(encoding))})" if encoding else f"bytes(memoryview({given}))"
            if is_marked(encoding):
                value = f"{self.module.use('_marked_bytes_of')}({given}, {literal(encoding)})"
            self.lines += [f"{local} = {value}", f"if len({local}) > {part.max_length}:", f"{INDENT}raise {irregular}"]
            row.put(base + part.length_offset, FORMATS[part.length_type.primitive.name], part.length_type.size, f"len({local})")
            row.pad(base + part.data_offset)
            return local
        local = self.local("rows")
        least, most = int(max(part.count_type.minimum, 0)), int(part.count_type.maximum)
        # Nothing may be an empty group but an empty list: text and dicts of nothing would go through the loop as well.
        check = f"not {max(least, 1)} <= len({local}) <= {most}" + ("" if least else f" and {local} != []")
        self.lines += [f"{local} = {given}", f"if {check}:", f"{INDENT}raise {irregular}"]
        fields = [("blockLength", part.block_length_type, str(part.block_length)), ("numInGroup", part.count_type, f"len({local})")]
        for name, encoded, text in sorted(fields, key=lambda one: part.dimension.member(one[0]).offset):
            if encoded.size:
                row.put(base + part.dimension.member(name).offset, FORMATS[encoded.primitive.name], encoded.size, text)
        row.pad(base + part.dimension.size)
        return local

    def _entries(self, group: Group, entry: str, rows: str) -> None:
        if group.groups or group.data:
            name = self.fused.function_name("write")
            body = Writing(self.fused)
            body.block(group, entry, "entry", Row())
            self.fused.functions += [
                "",
                "",
                f"def {name}(parts: list[bytes], rows: list[{entry}]) -> None:",
                "    for entry in rows:",
                *(f"        {line}" for line in body.lines),
            ]
            self.lines.append(f"{name}(parts, {rows})")
            return
        body = Writing(self.fused)
        row = Row()
        one = self.local("row")
        body.values(group, one, row, 0)
        row.pad(group.block_length)
        codec = self.fused.codec("WRITE", row.code, "pack")
        call = f"{codec}({', '.join(row.targets)})"
        if body.lines or len(call) > 80:
            call_lines = spread_call(f"{codec}(", row.targets, ")")
            self.lines += [f"for {one} in {rows}:", *(f"{INDENT}{line}" for line in body.lines)]
            if len(call_lines) == 1:
                self.lines.append(f"{INDENT}parts.append({call_lines[0]})")
            else:
                self.lines += [f"{INDENT}parts.append(", *(f"{INDENT * 2}{line}" for line in call_lines), f"{INDENT})"]
            return
        self.lines.append(f"parts += [{call} for {one} in {rows}]")


def newest_version(message: Message) -> int:
    """The version from which on a message has everything."""
    nodes = [one for block in walk_blocks(message) for one in (*block.fields, *block.groups, *block.data)]
    inner = [_newest_member(one.type) for block in walk_blocks(message) for one in block.fields if isinstance(one.type, Composite)]
    return max([0, *(one.since_version for one in nodes), *inner])


def _newest_member(composite: Composite) -> int:
    inner = [_newest_member(one.type) for one in composite.members if isinstance(one.type, Composite)]
    return max([0, *(one.since_version for one in composite.members), *inner])


def indented(lines: list[str]) -> list[str]:
    return [f"{INDENT}{line}" for line in lines]


def assignment(targets: list[str], call: str) -> list[str]:
    """A tuple assigned from a call, on one line or a target on each."""
    line = f"{joined(targets)} = {call}" if len(targets) > 1 else f"({targets[0]},) = {call}"
    if len(line) <= 110:
        return [line]
    return ["(", *(f"{INDENT}{one}," for one in targets), f") = {call}"]


def spread_call(before: str, items: list[str], after: str) -> list[str]:
    line = f"{before}{', '.join(items)}{after}"
    if len(line) <= 90:
        return [line]
    return [before, *(f"{INDENT}{item}," for item in items), after]
