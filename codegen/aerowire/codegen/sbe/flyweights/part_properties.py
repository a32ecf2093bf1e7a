"""How a decoder reaches its groups and data, and how an encoder writes them.

A decoder's properties have the usual case of their own: a version and lengths that need no more than a comparison.  Everything else,
errors among it, goes to the methods of the support package, which check all there is.
"""

from __future__ import annotations

from aerowire.codegen.primitives import FORMATS
from aerowire.codegen.sbe.flyweights.docs import class_doc
from aerowire.codegen.sbe.flyweights.module import Module
from aerowire.codegen.sbe.flyweights.rows import Row
from aerowire.codegen.sbe.flyweights.text import literal, spread_flat
from aerowire.codegen.sbe.flyweights.values import Model, errors_of, is_marked, python_encoding
from aerowire.codegen.sbe.ir import Block, Data, Group
from aerowire.codegen.sbe.naming import property_names

# Any bytes are text of these, with those that are no characters as surrogates.
TOTAL_ENCODINGS = {"ascii", "utf-8", "iso8859-1"}


def part_readers(module: Module, owner: Block, stem: str) -> list[str]:
    """The properties of a decoder for its groups and data."""
    names = property_names(owner)
    last = len(owner.groups) + len(owner.data) - 1
    lines: list[str] = []
    for index, group in enumerate(owner.groups):
        entry = f"{group_stem(module.model, stem, group)}Decoder"
        kind = f"{module.use('_GroupDecoder')}[{entry}]"
        lines += ["", "    @property", f"    def {names[group.name]}(self) -> {kind}:", *class_doc(group, 2, "")]
        lines += _quick_group(module, group, kind, f"_{stem}_{index}", index, last)
        lines.append(f"        return self._group(_{stem}_{index}, {index})")
    for index, data in enumerate(owner.data, len(owner.groups)):
        encoding = data_encoding(data)
        kind, method = ("str", "_marked_text" if is_marked(encoding) else "_text") if encoding else ("memoryview", "_data")
        lines += ["", "    @property", f"    def {names[data.name]}(self) -> {kind}:", *class_doc(data, 2, "")]
        lines += _quick_data(module, data, encoding, index, last)
        lines.append(f"        return self.{method}(_{stem}_{index}, {index})")
    return lines


def _quick_group(module: Module, group: Group, kind: str, part: str, index: int, last: int) -> list[str]:
    """A group whose entries are at least as long as the schema's and all within the buffer."""
    dimension = group.dimension
    counted = {"block_length": "blockLength", "count": "numInGroup"}
    types = (group.block_length_type, group.count_type)
    if not group.block_length or any(one.primitive.signed or not one.size for one in types):
        return []
    row = Row()
    for local, name in sorted(counted.items(), key=lambda one: dimension.member(one[1]).offset):
        type_ = types[name == "numInGroup"]
        row.put(dimension.member(name).offset, FORMATS[type_.primitive.name], type_.size, local)
    unpack = module.unpack(row.code, 0)
    is_flat = not group.groups and not group.data
    return [
        *_start_lines(group.since_version, index, dimension.size),
        f"            {', '.join(row.targets)} = {unpack}(view, at)",
        "            end = start + count * block_length",
        f"            if block_length >= {group.block_length} and end <= size:",
        f"                group: {kind} = {module.use('_FlatGroupDecoder' if is_flat else '_GroupDecoder')}()",
        "                group._owner = self",
        f"                group._part = {part}",
        "                group._start = start",
        "                group._block_length = block_length",
        "                group._count = count",
        *(_end_lines(index, last) if is_flat else ["                group._starts = None"]),
        "                return group",
    ]


def _quick_data(module: Module, data: Data, encoding: str, index: int, last: int) -> list[str]:
    """Bytes that are all within the buffer."""
    length = data.length_type
    if length.primitive.signed or not length.size or (encoding and encoding not in TOTAL_ENCODINGS):
        return []
    unpack = module.unpack(FORMATS[length.primitive.name], data.length_offset)
    found = f"str(view[start:end], {literal(encoding)}, {literal(errors_of(encoding))})" if encoding else "view[start:end]"
    return [
        *_start_lines(data.since_version, index, data.data_offset),
        f"            end = start + {unpack}(view, at)[0]",
        "            if end <= size:",
        *_end_lines(index, last),
        f"                return {found}",
    ]


def _start_lines(since: int, index: int, length: int) -> list[str]:
    """Where a part starts, and whether the buffer has what stands in front of it."""
    known = f"marks[{index}] if len(marks) > {index} else self._start_of({index})" if index else "marks[0]"
    version = f"self._acting_version >= {since} and " if since else ""
    return [
        "        marks = self._marks",
        f"        at = {known}",
        "        view = self._buffer",
        f"        start, size = at + {length}, len(view)",
        f"        if {version}start <= size:",
    ]


def _end_lines(index: int, last: int) -> list[str]:
    """Where the part ends is kept for the next one."""
    return [] if index == last else [f"                if len(marks) == {index + 1}:", "                    marks.append(end)"]


def part_writers(module: Module, owner: Block, stem: str) -> list[str]:
    names = property_names(owner)
    lines: list[str] = []
    index = 0
    for group in owner.groups:
        entry = f"{group_stem(module.model, stem, group)}Encoder"
        kind = f"{module.use('_GroupEncoder')}[{entry}]"
        more = class_doc(group, 2, f"Begin {group.name}: its entries come out of what is returned.")
        lines += ["", *spread_flat(f"def {names[group.name]}(", "self, count: int", f") -> {kind}:", 1), *more]
        lines.append(f"        return self._put_group(_{stem}_{index}, {index}, count)")
        index += 1
    for data in owner.data:
        name = names[data.name]
        kind, given = ("str", f"str | {module.use('_Buffer')}") if data_encoding(data) else ("memoryview", module.use("_Buffer"))
        lines += ["", "    @property", f"    def {name}(self) -> {kind}:", *class_doc(data, 2, "")]
        lines += [f"        raise self._unreadable({literal(data.name)})", "", f"    @{name}.setter"]
        method = "_put_marked_text" if is_marked(data_encoding(data)) else "_put_data"
        lines += [f"    def {name}(self, value: {given}) -> None:", f"        self.{method}(_{stem}_{index}, {index}, value)"]
        index += 1
    return lines


def data_encoding(data: Data) -> str:
    """Python's name of the character set of text, else empty."""
    return python_encoding(data.encoding) or "" if data.encoding else ""


def group_stem(model: Model, stem: str, group: Group) -> str:
    """The class of a group within the block whose class is `stem`."""
    path = next((path for path, one in model.names.groups.items() if one == stem), None)
    if path is None:
        path = (next(name for name, one in model.names.messages.items() if one == stem),)
    return model.names.groups[(*path, group.name)]
