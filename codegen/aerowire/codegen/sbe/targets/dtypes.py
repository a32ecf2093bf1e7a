"""NumPy structured dtypes of the fixed blocks, and what is needed to decode streams of messages to columns."""

from __future__ import annotations

from aerowire.codegen.mark import mark
from aerowire.codegen.rendering.base import render
from aerowire.codegen.sbe.flyweights.package import errors_file
from aerowire.codegen.sbe.flyweights.text import literal, number, one_line
from aerowire.codegen.sbe.ir import HEADER_NUMBERS, Block, Composite, Data, Field, Group, Member, Message, MessageSchema
from aerowire.codegen.sbe.naming import TakenNames, free_name, upper_name
from aerowire.codegen.sbe.placement import Placement, dots
from aerowire.codegen.sbe.targets.columns import Column, columns_of, is_stored, primitive_format
from aerowire.codegen.sbe.targets.python_text import Listing, call, laid_out, mapping, row

SUPPORT = "_columns"
# Names that the generated module has anyway; compared without regard to case.
RESERVED = ("HEADER", "HEADER_LAYOUT", "MESSAGES", "SCHEMA", "Final", "np", "BlockLayout", "Columns", "Integer", "SbeError")


class DtypesMessageTarget:
    """Renders one module per schema, and the module that all of them use."""

    name = "dtypes"

    def render(self, schema: MessageSchema, placement: Placement) -> dict[str, str]:
        tables = Tables(schema)
        module = render(
            "sbe/templates/sbe_dtypes.py.j2",
            header=mark(schema.file_name),
            description=one_line(schema.description or f"Messages of {schema.package}."),
            dtypes=tables.dtypes(),
            header_layout=laid_out("HEADER_LAYOUT: Final = ", tables.header()),
            schema=laid_out("SCHEMA: Final = ", tables.schema()),
            dots=shared_dots(placement, self.name),
        )
        return {placement.file(self.name): module, **support_files(placement)}


def support_files(placement: Placement) -> dict[str, str]:
    """What reads columns, and the module of its errors, by path."""
    folder = placement.shared_folder()
    text = render("sbe/templates/sbe_columns.py.j2", header=mark())
    return {f"{folder}/{SUPPORT}.py": text, **dict([errors_file(folder)])}


def shared_dots(placement: Placement, target: str) -> str:
    """How the module of a target names in an import what it shares with others."""
    return dots(placement.file(target).rpartition("/")[0], placement.shared_folder())


class Tables:
    """What the support module works from, as text, and the dtypes by their names."""

    def __init__(self, schema: MessageSchema, reserved: tuple[str, ...] = ()) -> None:
        self.schema_read = schema
        self.order = schema.byte_order
        self._names: dict[int, str] = {}
        self.taken = TakenNames([*RESERVED, *reserved])

    def dtypes(self) -> list[tuple[str, str]]:
        """Description and definition of each, in an order in which each knows those that it uses."""
        out = [("The header of every message.", self._dtype("HEADER", self._composite(self.schema_read.header.type)))]
        for message in self.schema_read.messages:
            out += self._blocks(message, message.name)
        return out

    def _blocks(self, block: Block, path: str) -> list[tuple[str, str]]:
        name = self.name_of(block, path)
        what = f"{path}: {block.description}" if block.description else path
        out = [(one_line(what), self._dtype(name, self._structure(self._parts(block.fields), block.block_length)))]
        for group in block.groups:
            out += self._blocks(group, f"{path}.{group.name}")
        return out

    def name_of(self, block: Block, path: str) -> str:
        """The name of a block's dtype: upper case of its path, with a number behind it when that is taken."""
        if id(block) not in self._names:
            self._names[id(block)] = free_name(upper_name(path), self.taken)
        return self._names[id(block)]

    def _dtype(self, name: str, structure: Listing) -> str:
        return laid_out(f"{name}: Final[np.dtype[np.void]] = ", call("np.dtype", structure))

    def _parts(self, fields: tuple[Field, ...] | tuple[Member, ...]) -> list[tuple[str, str | Listing, int]]:
        found: list[tuple[str, str | Listing, int]] = []
        for one in fields:
            if not is_stored(one):
                continue
            if isinstance(one.type, Composite):
                found.append((one.name, self._composite(one.type), one.offset))
                continue
            column = Column(path="", offset=0, type=one.type, presence=one.presence, since_version=0, order=self.order)
            text = literal(column.format)
            found.append((one.name, text if column.length is None else row([text, row([str(column.length)])]), one.offset))
        return found

    def _composite(self, composite: Composite) -> Listing:
        return self._structure(self._parts(composite.members), composite.size)

    @staticmethod
    def _structure(parts: list[tuple[str, str | Listing, int]], size: int) -> Listing:
        return mapping(
            [
                ('"names"', row([literal(name) for name, _, _ in parts], "[]")),
                ('"formats"', row([format for _, format, _ in parts], "[]")),
                ('"offsets"', row([str(offset) for _, _, offset in parts], "[]")),
                ('"itemsize"', str(size)),
            ]
        )

    def schema(self) -> Listing:
        """The schema as the support module has it."""
        return call("SchemaLayout", "HEADER_LAYOUT", row([self._message(one) for one in self.schema_read.messages]))

    def header(self) -> Listing:
        """The header as the support module has it."""
        header = self.schema_read.header
        return call("HeaderLayout", str(header.size), *(self._integer(header.type, name) for name in HEADER_NUMBERS))

    def _message(self, message: Message) -> Listing:
        return call(
            "MessageLayout",
            literal(message.name),
            str(message.id),
            str(self.schema_read.told_id),
            "HEADER_LAYOUT",
            self._block(message, message.name),
        )

    def _integer(self, composite: Composite, name: str) -> Listing:
        member, encoded = composite.member(name), composite.encoded(name)
        place = [str(member.offset), literal(primitive_format(encoded.primitive, self.order))]
        return call("Integer", *place, *([] if is_stored(member) else [str(encoded.constant)]))

    def _block(self, block: Block, path: str) -> Listing:
        named: dict[str, str | Listing] = {
            "name": literal(block.name),
            "dtype": self.name_of(block, path),
            "ends": row([row([str(since), str(end)]) for since, end in block.growth()]),
            "fields": row([_field(column) for column in columns_of(block, self.order)]),
        }
        if block.groups:
            named["groups"] = row([self._group(group, f"{path}.{group.name}") for group in block.groups])
        if block.data:
            named["data"] = row([self._data(data) for data in block.data])
        return call("BlockLayout", **named)

    def _group(self, group: Group, path: str) -> Listing:
        return call(
            "GroupLayout",
            literal(group.name),
            str(group.since_version),
            self._integer(group.dimension, "blockLength"),
            self._integer(group.dimension, "numInGroup"),
            str(group.dimension.size),
            self._block(group, path),
        )

    def _data(self, data: Data) -> Listing:
        length = self._integer(data.type, "length")
        return call("DataLayout", literal(data.name), str(data.since_version), length, str(data.data_offset), literal(data.encoding))


def _field(column: Column) -> Listing:
    shape = row([] if column.length is None else [str(column.length)])
    null = "None" if column.null is None else _value(column, column.null)
    return call(
        "FieldLayout",
        literal(column.path),
        str(column.offset),
        literal(column.format),
        shape,
        str(column.since_version),
        null,
        _value(column, column.fill),
    )


def fill_text(column: Column) -> str:
    """What a message has that is older than a value, as an expression."""
    return _value(column, column.fill)


def _value(column: Column, value: int | float) -> str:
    if column.format.startswith("S"):
        text = repr(bytes([int(value)]) if value else b"")
        return f'b"{text[2:-1]}"' if '"' not in text else text
    return number(float(value) if column.type.primitive.is_float else value)
