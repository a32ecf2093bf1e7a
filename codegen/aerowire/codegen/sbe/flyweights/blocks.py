"""The decoder and the encoder of a message, of an entry of a group and of a composite, and the constants that both have."""

from __future__ import annotations

from collections.abc import Sequence

from aerowire.codegen.primitives import FORMATS
from aerowire.codegen.sbe.flyweights.docs import class_doc
from aerowire.codegen.sbe.flyweights.module import Module
from aerowire.codegen.sbe.flyweights.nulls import define_nulls
from aerowire.codegen.sbe.flyweights.part_properties import data_encoding, part_readers, part_writers
from aerowire.codegen.sbe.flyweights.rows import Row
from aerowire.codegen.sbe.flyweights.text import WIDTH, byte_literal, joined, literal, spread, spread_flat, spread_tuple
from aerowire.codegen.sbe.flyweights.values import Model, Owner, Value, errors_of, has_further_members, limits
from aerowire.codegen.sbe.ir import Block, Composite, Data, EncodedType, Field, Group, Message, Named
from aerowire.codegen.sbe.naming import constant_names, property_names


def add_layout(module: Module, stem: str, owner: Owner) -> None:
    """The class of constants that decoder and encoder share."""
    names = property_names(owner)
    values = module.model.values(owner)
    lines = ["", "", f"class _{stem}Layout:", f'    """Constants of {stem}."""', "", "    __slots__ = ()"]
    if isinstance(owner, Message):
        schema = module.model.schema
        lines += [
            f"    SBE_TEMPLATE_ID = {owner.id}",
            f"    SBE_SCHEMA_ID = {schema.id}",
            f"    SBE_SCHEMA_VERSION = {schema.version}",
            f"    SBE_BLOCK_LENGTH = {owner.block_length}",
            f"    SBE_SEMANTIC_TYPE = {literal(owner.semantic_type)}",
            f"    SBE_SEMANTIC_VERSION = {literal(schema.semantic_version)}",
            f"    _HEADER = {module.use_class('HEADER', 'header')}",
        ]
    if isinstance(owner, Composite):
        lines += [f"    ENCODED_LENGTH = {owner.size}", f"    SBE_SCHEMA_VERSION = {module.model.schema.version}"]
    else:
        lines += [f"    _BLOCK_LENGTH = {owner.block_length}"]
    if isinstance(owner, Group):
        lines += ["    SBE_BLOCK_LENGTH = _BLOCK_LENGTH", f"    SBE_HEADER_SIZE = {owner.dimension.size}"]
    constants = {value.node.name: _value_constants(value) for value in values}
    if isinstance(owner, Block):
        others: list[Group | Data] = [*owner.groups, *owner.data]
        constants |= {other.name: {"ID": str(other.id), "SINCE_VERSION": str(other.since_version)} for other in others}
    reserved = ["ENCODED_LENGTH"] if isinstance(owner, Composite) else []
    called = constant_names({names[name]: list(constants[name]) for name in names}, reserved)
    properties = {value.node.name: _constant_property(module, value) for value in values if value.is_constant}
    for name, texts in constants.items():
        lines += [f"    {called[names[name], what]} = {text}" for what, text in texts.items()]
        lines += [properties[name]] if name in properties else []
    lines.append(f"    _NAME = {literal(owner.name)}")
    members = [literal(names[one.name]) for one in _nodes(owner)]
    nullable = [literal(value.name) for value in values if value.is_nullable]
    lines += spread_tuple("_NULLABLE: ClassVar[tuple[str, ...]] = ", nullable, 1) if nullable else []
    lines += [f"    _NULLS = {define_nulls(module, stem, owner)}"] if module.model.is_asked(owner) else []
    lines += spread_tuple(f"_MEMBERS: {module.use('ClassVar')}[tuple[str, ...]] = ", members, 1)
    lines += _meta(owner, f"    _META: ClassVar[dict[str, tuple[{module.use('_Any')}, ...]]] = {{")
    module.lines += lines


def _nodes(owner: Owner) -> Sequence[Named]:
    """What it has, in the schema's order."""
    return owner.members if isinstance(owner, Composite) else (*owner.fields, *owner.groups, *owner.data)


def _value_constants(value: Value) -> dict[str, str]:
    """What the constants of a value say, as expressions."""
    found = {"ID": str(value.node.id)} if isinstance(value.node, Field) else {}
    found |= {"SINCE_VERSION": str(value.since), "ENCODING_OFFSET": str(value.offset), "ENCODING_LENGTH": str(value.size)}
    if value.kind in {"text", "numbers"} and isinstance(value.type, EncodedType) and not value.is_constant:
        found["LENGTH"] = str(value.type.length)
    return {**found, **limits(value)}


def _constant_property(module: Module, value: Value) -> str:
    if value.class_name:
        module.use_class(value.class_name, "enums")
    return f"    {value.name}: {module.use('ClassVar')}[{value.constant_annotation}] = {module.model.constant(value)}"


def _meta(owner: Owner, before: str) -> list[str]:
    """The table of what the schema says beyond values, an entry on each line."""
    lines: list[str] = []
    names = property_names(owner)
    for node in _nodes(owner):
        presence = getattr(node, "presence", "required")
        found = (
            node.name,
            getattr(node, "id", None),
            str(presence),
            node.semantic_type,
            getattr(node, "epoch", ""),
            getattr(node, "time_unit", ""),
            node.since_version,
            node.deprecated,
            node.description,
        )
        items = [literal(one) if isinstance(one, str) else repr(one) for one in found]
        lines += spread(f"{literal(names[node.name])}: (", items, "),", 2)
    whole = f"{before}{lines[0].strip()[:-1]}}}" if len(lines) == 1 else ""
    if whole and len(whole) <= WIDTH:
        return [whole]
    return [before, *lines, "    }"] if lines else [f"{before}}}"]


def add_decoder(module: Module, stem: str, owner: Owner, base: str) -> None:
    """The class that reads."""
    lines = ["", "", *spread_flat(f"class {stem}Decoder(", f"_{stem}Layout, {module.use(base)}", "):", 0)]
    lines += class_doc(owner, 1, f"Reads {owner.name}.")
    lines += ["", "    __slots__ = ()"]
    if isinstance(owner, Block):
        lines += _tables(stem, owner)
    if isinstance(owner, Message):
        lines += _wrapping(module, owner)
    for value in module.model.values(owner):
        if not value.is_constant:
            lines += ["", *_getter(module, value, is_decoder=True)]
    if isinstance(owner, Block):
        lines += part_readers(module, owner, stem)
    module.lines += lines


def _wrapping(module: Module, message: Message) -> list[str]:
    """Reading the header, for a message of its full length; everything else goes to where the checks are."""
    schema = module.model.schema
    module.use_class("HEADER", "header")
    unpack = module.define("_UNPACK_HEADER", "HEADER.unpack")
    size = schema.header.size
    turned = " or version < 0" if schema.header.encoded("version").primitive.signed else ""
    return [
        "",
        f"    def wrap_and_apply_header(self, buffer: {module.use('_Buffer')}, offset: int = 0) -> {module.use('_Self')}:",
        '        """Read the message whose header starts at `offset`; returns itself.  Raises SbeError when it is another message."""',
        "        if buffer is self._source:",
        "            view = self._buffer",
        "        elif type(buffer) is bytes:",
        "            view = memoryview(buffer)",
        "        else:",
        f"            view = {module.use('_view_of')}(buffer, {literal(message.name)})",
        f"        if not 0 <= offset <= len(view) - {size + message.block_length}:",
        "            return self._wrap_with_header(view, offset)",
        f"        block_length, template_id, schema_id, version = {unpack}(view, offset)",
        f"        if template_id != {message.id} or schema_id != {schema.id} or block_length != {message.block_length}{turned}:",
        "            return self._wrap_with_header(view, offset)",
        "        self._source = buffer",
        "        self._buffer = view",
        f"        self._offset = offset = offset + {size}",
        "        self._acting_block_length = block_length",
        "        self._acting_version = version",
        "        self._marks = [offset + block_length]",
        "        return self",
    ]


def _heading(module: Module, message: Message) -> list[str]:
    """Writing the header where there is room for it and the block."""
    size = module.model.schema.header.size
    return [
        "",
        f"    def wrap_and_apply_header(self, buffer: {module.use('_Buffer')}, offset: int = 0) -> {module.use('_Self')}:",
        '        """Write a header at `offset`, and the message behind it; returns itself."""',
        *spread_flat(
            f"view = self._buffer if buffer is self._source else {module.use('_view_of')}(",
            f"buffer, {literal(message.name)}, is_written=True",
            ")",
            2,
        ),
        f"        if not 0 <= offset <= len(view) - {size + message.block_length}:",
        "            return self._wrap_with_header(view, offset)",
        f"        view[offset : offset + {size}] = {module.head(message)}",
        "        self._source = buffer",
        "        self._buffer = view",
        f"        self._offset = offset = offset + {size}",
        f"        self._cursor = {module.use('_Cursor')}(offset + {message.block_length}, len(view))",
        "        return self",
    ]


def add_encoder(module: Module, stem: str, owner: Owner, base: str) -> None:
    """The class that writes."""
    lines = ["", "", *spread_flat(f"class {stem}Encoder(", f"_{stem}Layout, {module.use(base)}", "):", 0)]
    lines += class_doc(owner, 1, f"Writes {owner.name}.")
    lines += ["", "    __slots__ = ()"]
    if isinstance(owner, Block):
        lines.append(_parts(stem, owner))
    if isinstance(owner, Message) and not has_further_members(module.model.schema.header):
        lines += _heading(module, owner)
    for value in module.model.values(owner):
        if not value.is_constant:
            lines += ["", *_getter(module, value, is_decoder=False), "", *_setter(module, value)]
    if isinstance(owner, Block):
        lines += part_writers(module, owner, stem)
    module.lines += lines


def _tables(stem: str, owner: Block) -> list[str]:
    """How long a block of a version is at least, and what stands behind it."""
    least = joined([f"({since}, {end})" for since, end in owner.growth()])
    return [f"    _LEAST = ({least})", _parts(stem, owner)]


def _parts(stem: str, owner: Block) -> str:
    return f"    _PARTS = _{stem}_PARTS" if owner.groups or owner.data else "    _PARTS = ()"


def add_parts(module: Module, stem: str, owner: Block, path: tuple[str, ...]) -> None:
    """The table of groups and data, after the classes of the groups' entries; the block's own classes refer to it."""
    if not owner.groups and not owner.data:
        return
    parts = [_group_part(module, group, path) for group in owner.groups] + [_data_part(module, data) for data in owner.data]
    module.lines += ["", ""]
    for index, (kind, items) in enumerate(parts):
        module.lines += spread(f"_{stem}_{index} = {module.use(kind)}(", items, ")", 0)
    names = [f"_{stem}_{index}" for index in range(len(parts))]
    module.lines += spread_tuple(f"_{stem}_PARTS = ", names, 0)


def numbers(model: Model, composite: Composite, names: Sequence[str], told: dict[str, int] | None = None) -> list[str]:
    """The arguments of `Numbers` for some members of a composite: a format, their order, and those that are constants, as `told`."""
    members = {name: composite.member(name) for name in names}
    types = {name: one.type for name, one in members.items() if isinstance(one.type, EncodedType)}
    standing = sorted((name for name in names if types[name].size), key=lambda name: members[name].offset)
    row = Row()
    for name in standing:
        row.put(members[name].offset, FORMATS[types[name].primitive.name], types[name].size, name)
    row.pad(composite.size)
    order = joined([str(standing.index(name)) for name in names if name in standing])
    constants = {place: (told or {}).get(name, types[name].constant) for place, name in enumerate(names) if name not in standing}
    return [literal(model.order + row.code), f"({order})", *([repr(constants)] if constants else [])]


def _group_part(module: Module, group: Group, path: tuple[str, ...]) -> tuple[str, list[str]]:
    stem = module.model.names.groups[(*path, group.name)]
    dimensions = ", ".join(numbers(module.model, group.dimension, ("blockLength", "numInGroup")))
    limit = f"({int(max(group.count_type.minimum, 0))}, {int(group.count_type.maximum)})"
    return "_GroupPart", [
        literal(group.name),
        str(group.since_version),
        f"{module.use('_Numbers')}({dimensions})",
        limit,
        f"{stem}Decoder",
        f"{stem}Encoder",
    ]


def _data_part(module: Module, data: Data) -> tuple[str, list[str]]:
    row = Row()
    row.put_length(data, "")
    encoding = data_encoding(data)
    return "_DataPart", [
        literal(data.name),
        str(data.since_version),
        literal(module.model.order + row.code),
        str(data.data_offset),
        str(data.max_length),
        literal(encoding),
        literal(errors_of(encoding)),
    ]


def _getter(module: Module, value: Value, *, is_decoder: bool) -> list[str]:
    annotation = _annotation(value, is_decoder=is_decoder)
    lines = ["    @property", f"    def {value.name}(self) -> {annotation}:", *class_doc(value.node, 2, "")]
    if is_decoder and value.since:
        lines += [f"        if self._acting_version < {value.since}:", "            return None"]
    at = f"self._offset + {value.offset}" if value.offset else "self._offset"
    if value.is_composite:
        side = "Decoder" if is_decoder else "Encoder"
        kind = module.use_class(f"{value.class_name}{side}", "composites")
        version = ", self._acting_version" if is_decoder else ""
        return [*lines, f"        return {kind}()._at(self._buffer, {at}{version})"]
    if value.kind in {"enum", "flags"}:
        module.use_class(value.class_name, "enums")
    if value.kind == "numbers":
        return [*lines, f"        return {module.unpack(value.code, value.offset)}(self._buffer, self._offset)"]
    # An index costs less than a call.
    one = f"self._buffer[{at}]" if value.code == "B" else f"{module.unpack(value.code, value.offset)}(self._buffer, self._offset)[0]"
    if value.kind in {"text", "enum", "flags"} or (value.kind == "char" and not value.is_optional):
        return [*lines, f"        return {module.decoded(value, one)}"]
    if value.is_optional:
        return [*lines, f"        value = {one}", f"        return {module.decoded(value, 'value')}"]
    return [*lines, f"        return {one}"]


def _annotation(value: Value, *, is_decoder: bool) -> str:
    plain = value.plain_annotation
    if value.is_composite:
        plain += "Decoder" if is_decoder else "Encoder"
    is_none = value.is_optional or (is_decoder and value.since > 0)
    return f"{plain} | None" if is_none else plain


def _setter(module: Module, value: Value) -> list[str]:
    if value.is_composite:
        return _composite_setter(module, value)
    given = value.plain_annotation
    if value.kind == "text":
        given = f"str | {module.use('_Buffer')}"
    if value.kind == "numbers":
        given = f"{module.use('_Iterable')}[{given[6:-6]}]"
    given += " | None" if value.takes_none else ""
    return [
        f"    @{value.name}.setter",
        f"    def {value.name}(self, value: {given}) -> None:",
        "        try:",
        *_stores(module, value),
        f"        except {module.use('_FAILURES')}:",
        *spread_flat(
            f"raise {module.use('_refused')}(", f"self, {literal(value.node.name)}, {literal(value.expected())}, value", ") from None", 3
        ),
    ]


def _stores(module: Module, value: Value) -> list[str]:
    """Writing a value, or nothing when it does not fit: `pack_into` has filled the bytes with zeros before it finds that out."""
    at = f"self._offset + {value.offset}" if value.offset else "self._offset"
    given = module.encoded(value, "value", in_row=False)
    if value.kind == "text":
        return [f"            {module.pack(value.code)}(self._buffer, {at}, {given})"]
    if value.code == "B":
        return [f"            self._buffer[{at}] = {given}"]
    if value.kind == "numbers":
        end = f"self._offset + {value.offset + value.size}"
        return [f"            self._buffer[{at} : {end}] = {module.fits(value.code)}({given})"]
    first = [] if given == "value" else [f"            raw = {given}"]
    raw = "raw" if first else "value"
    return [*first, f"            {module.fits(value.code)}({raw})", f"            {module.pack(value.code)}(self._buffer, {at}, {raw})"]


def _composite_setter(module: Module, value: Value) -> list[str]:
    """A composite is set from its record, or from None where that stands for null."""
    kind = module.use_class(value.class_name, "composites")
    put = module.use("_put")
    lines = [f"    @{value.name}.setter", f"    def {value.name}(self, value: {kind}{' | None' if value.is_nullable else ''}) -> None:"]
    if value.is_nullable:
        name = module.define(f"_NULL_{value.class_name}", byte_literal(value.null_bytes(module.model.order)))
        start = f"self._offset + {value.offset}" if value.offset else "self._offset"
        end = f"self._offset + {value.offset + value.size}"
        lines += ["        if value is None:", f"            self._buffer[{start} : {end}] = {name}"]
        lines.append("            return")
    return [*lines, *spread_flat(f"{put}(", f"value, {kind}, self.{value.name}, self, {literal(value.node.name)}", ")", 2)]
