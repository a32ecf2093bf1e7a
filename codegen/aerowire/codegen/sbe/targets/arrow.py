"""Arrow and Spark schemas of messages, and what is needed to decode their bytes to record batches.

Spark has no unsigned numbers: they widen there (uint64 to a decimal), while Arrow keeps them.  Enums become the names of their
values, sets structs of booleans, which is how the official printer shows them and how Spark's users filter by them.
"""

from __future__ import annotations

from dataclasses import dataclass

from aerowire.codegen.mark import mark
from aerowire.codegen.primitives import Primitive
from aerowire.codegen.rendering.base import render
from aerowire.codegen.sbe.flyweights.text import INDENT, WIDTH, literal, number, one_line, pieces
from aerowire.codegen.sbe.flyweights.values import python_encoding
from aerowire.codegen.sbe.ir import (
    Block,
    Composite,
    Data,
    EncodedType,
    Enum,
    Field,
    FlagSet,
    Group,
    Member,
    Message,
    MessageSchema,
    Presence,
    has_null,
)
from aerowire.codegen.sbe.naming import free_name, upper_name
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.sbe.targets.columns import Column, members_of
from aerowire.codegen.sbe.targets.dtypes import Tables, fill_text, shared_dots, support_files
from aerowire.codegen.sbe.targets.python_text import Listing, call, laid_out, mapping, names_called, row

SPARK_NUMBERS = {
    "int8": "TINYINT",
    "uint8": "SMALLINT",
    "int16": "SMALLINT",
    "uint16": "INT",
    "int32": "INT",
    "uint32": "BIGINT",
    "int64": "BIGINT",
    "uint64": "DECIMAL(20,0)",
    "float": "FLOAT",
    "double": "DOUBLE",
}
ARROW_NUMBERS = {"float": "pa.float32()", "double": "pa.float64()"}
LAYOUT_NAMES = (
    "BlockLayout",
    "ColumnsError",
    "DataLayout",
    "FieldLayout",
    "GroupLayout",
    "HeaderLayout",
    "Integer",
    "MessageLayout",
    "SchemaLayout",
)
ARROW_NAMES = (
    "BlockTable",
    "CharacterColumn",
    "CompositeColumn",
    "ConstantColumn",
    "EnumColumn",
    "GroupColumn",
    "MessageTable",
    "NumberColumn",
    "SchemaTable",
    "SetColumn",
    "TextColumn",
    "VariableColumn",
)


@dataclass(frozen=True, slots=True)
class Shape:
    """A column: its types in Arrow (an expression) and Spark, and what builds it."""

    name: str
    arrow: str | Listing
    ddl: str
    builder: Listing
    about: Field | Member | Group | Data

    def field(self) -> Listing:
        """The column as an Arrow field."""
        metadata = _metadata(self.about)
        named = {"metadata": mapping([(literal(key), literal(text)) for key, text in metadata])} if metadata else {}
        return call("pa.field", literal(self.name), self.arrow, **named)

    def declaration(self, separator: str) -> str:
        """The column as Spark's DDL has it."""
        comment = f" COMMENT {_spark_text(self.about.description)}" if self.about.description.strip() else ""
        return f"{_spark_name(self.name)}{separator}{self.ddl}{comment}"


class ArrowMessageTarget:
    """Renders one module per schema, and the two modules that all of them use."""

    name = "arrow"

    def render(self, schema: MessageSchema, placement: Placement) -> dict[str, str]:
        tables = Tables(schema, ("pa", "SCHEMA_LAYOUT", *ARROW_NAMES))
        dtypes = tables.dtypes()
        header_layout, schema_layout = tables.header(), tables.schema()
        used = {"ColumnsError", "MessageTable", "SchemaTable", *names_called(header_layout), *names_called(schema_layout)}
        taken, messages, found = tables.taken, [], []
        for index, message in enumerate(schema.messages):
            name = upper_name(message.name)
            schema_name, ddl_name, table_name = (free_name(f"{name}_{kind}", taken) for kind in ("SCHEMA", "DDL", "TABLE"))
            shapes = _shapes(message)
            table = _table(shapes)
            used.update(names_called(table))
            messages.append(
                (
                    one_line(f"{message.name}: {message.description}" if message.description else message.name),
                    laid_out(f"{schema_name}: Final[pa.Schema] = ", _schema(message, shapes)),
                    _text(f"{ddl_name}: Final = ", ", ".join(shape.declaration(" ") for shape in shapes)),
                    laid_out(
                        f"{table_name}: Final = ", call("MessageTable", f"SCHEMA_LAYOUT.messages[{index}]", table, schema_name, ddl_name)
                    ),
                )
            )
            found.append((literal(message.name), table_name))
        module = render(
            "sbe/templates/sbe_arrow.py.j2",
            header=mark(schema.file_name),
            description=one_line(schema.description or f"Messages of {schema.package}."),
            dtypes=dtypes,
            header_layout=laid_out("HEADER_LAYOUT: Final = ", header_layout),
            schema=laid_out("SCHEMA_LAYOUT: Final = ", schema_layout),
            messages=messages,
            tables=found,
            arrow_names=[name for name in ARROW_NAMES if name in used],
            layout_names=[name for name in LAYOUT_NAMES if name in used],
            dots=shared_dots(placement, self.name),
        )
        folder = placement.shared_folder()
        support = render("sbe/templates/sbe_arrow_support.py.j2", header=mark())
        return {placement.file(self.name): module, f"{folder}/_arrow.py": support, **support_files(placement)}


def _schema(message: Message, shapes: list[Shape]) -> Listing:
    metadata = [("description", message.description)] if message.description else []
    metadata += [("semantic_type", message.semantic_type)] if message.semantic_type else []
    named = {"metadata": mapping([(literal(key), literal(text)) for key, text in metadata])} if metadata else {}
    return call("pa.schema", row([shape.field() for shape in shapes], "[]"), **named)


def _metadata(about: Field | Member | Group | Data) -> list[tuple[str, str]]:
    found = [("description", " ".join(about.description.split())), ("semantic_type", about.semantic_type)]
    if isinstance(about, Field):
        found += [("epoch", about.epoch), ("time_unit", about.time_unit)]
    if not isinstance(about, Member):
        found.append(("id", str(about.id)))
    found += [("since_version", str(about.since_version or "")), ("deprecated", str(about.deprecated or ""))]
    return [(key, text) for key, text in found if text]


def _table(shapes: list[Shape]) -> Listing:
    fields = [shape.builder for shape in shapes if isinstance(shape.about, Field)]
    groups = [shape.builder for shape in shapes if isinstance(shape.about, Group)]
    data = [shape.builder for shape in shapes if isinstance(shape.about, Data)]
    named = {name: row(builders) for name, builders in (("groups", groups), ("data", data)) if builders}
    return call("BlockTable", row(fields), **named)


def _shapes(block: Block) -> list[Shape]:
    fields = [_value(field, field.type, field.name, field.presence, field.constant) for field in block.fields]
    return [*fields, *map(_group, block.groups), *map(_data, block.data)]


def _group(group: Group) -> Shape:
    shapes = _shapes(group)
    builder = call("GroupColumn", literal(group.name), _table(shapes))
    return Shape(group.name, call("pa.list_", _arrow_struct(shapes)), f"ARRAY<{_ddl_struct(shapes)}>", builder, group)


def _data(data: Data) -> Shape:
    encoding = data.encoding if python_encoding(data.encoding) else ""
    builder = call("VariableColumn", literal(data.name), literal(encoding))
    return Shape(data.name, "pa.string()" if encoding else "pa.binary()", "STRING" if encoding else "BINARY", builder, data)


def _arrow_struct(shapes: list[Shape]) -> Listing:
    return call("pa.struct", row([shape.field() for shape in shapes], "[]"))


def _ddl_struct(shapes: list[Shape]) -> str:
    return f"STRUCT<{', '.join(shape.declaration(': ') for shape in shapes)}>"


def _value(
    about: Field | Member, type: EncodedType | Enum | FlagSet | Composite, path: str, presence: Presence, constant: int | float | str | None
) -> Shape:
    name, texts = literal(about.name), (literal(about.name), literal(path))
    if presence is Presence.CONSTANT and not isinstance(type, FlagSet | Composite):
        return _constant(about, type, constant)
    if isinstance(type, Composite):
        members = [_member(member, path) for member in type.members]
        nulls = [_null(column) for column in members_of(type, path)] if _is_nullable(about, type, presence) else []
        more = {"nulls": row(nulls)} if nulls else {}
        builder = call("CompositeColumn", name, str(about.since_version), row([member.builder for member in members]), **more)
        return Shape(about.name, _arrow_struct(members), _ddl_struct(members), builder, about)
    if isinstance(type, Enum):
        return Shape(about.name, "pa.string()", "STRING", call("EnumColumn", *texts, row(_enum_names(type))), about)
    if isinstance(type, FlagSet):
        choices = row([row([literal(choice.name), str(choice.bit)]) for choice in type.choices])
        arrow = call("pa.struct", row([call("pa.field", literal(choice.name), "pa.bool_()") for choice in type.choices], "[]"))
        ddl = f"STRUCT<{', '.join(_choice(choice.name, choice.description) for choice in type.choices)}>"
        return Shape(about.name, arrow, ddl, call("SetColumn", *texts, choices), about)
    return _encoded(about, type, texts)


def _is_nullable(about: Field | Member, type: Composite, presence: Presence) -> bool:
    """Whether null stands for a composite whose members are all null."""
    return (presence is Presence.OPTIONAL or about.since_version > 0) and has_null(type)


def _null(column: Column) -> Listing:
    """The path of a member and what stands for null in it: of text, nothing in front of the first NUL."""
    is_text = isinstance(column.type, EncodedType) and column.type.is_text
    encoding = column.type.character_encoding or "US-ASCII" if is_text and isinstance(column.type, EncodedType) else ""
    known = encoding if python_encoding(encoding) else "ISO-8859-1"
    return row([literal(column.path), literal(known) if is_text else fill_text(column)])


def _encoded(about: Field | Member, type: EncodedType, texts: tuple[str, str]) -> Shape:
    if type.length == 0:
        return _constant(about, type, "" if type.is_text else None)
    if type.is_text:
        declared = type.character_encoding or "US-ASCII"
        encoding = declared if python_encoding(declared) else "ISO-8859-1"
        return Shape(about.name, "pa.string()", "STRING", call("TextColumn", *texts, literal(encoding)), about)
    if type.primitive.name == "char":
        return Shape(about.name, "pa.string()", "STRING", call("CharacterColumn", *texts), about)
    arrow, ddl = arrow_number(type.primitive), SPARK_NUMBERS[type.primitive.name]
    if type.length != 1:
        arrow, ddl = f"pa.list_({arrow})", f"ARRAY<{ddl}>"
    return Shape(about.name, arrow, ddl, call("NumberColumn", *texts), about)


def _constant(about: Field | Member, type: EncodedType | Enum, constant: int | float | str | None) -> Shape:
    is_text = isinstance(constant, str)
    if is_text:
        arrow, ddl, value = "pa.string()", "STRING", literal(str(constant))
    else:
        arrow, ddl, value = arrow_number(type.primitive), SPARK_NUMBERS.get(type.primitive.name, "SMALLINT"), ""
        value = "" if constant is None else number(float(constant) if type.primitive.is_float else int(constant))
    if not is_text and constant is None:
        arrow, ddl, value = f"pa.list_({arrow})", f"ARRAY<{ddl}>", "()"
    return Shape(about.name, arrow, ddl, call("ConstantColumn", literal(about.name), value, arrow), about)


def _member(member: Member, path: str) -> Shape:
    constant = member.type.constant if isinstance(member.type, EncodedType) else None
    return _value(member, member.type, f"{path}.{member.name}", member.presence, constant)


def arrow_number(primitive: Primitive) -> str:
    """Arrow's type of a number."""
    return ARROW_NUMBERS.get(primitive.name) or f"pa.{'uint8' if primitive.name == 'char' else primitive.name}()"


def _enum_names(enum: Enum) -> list[str | Listing]:
    names = {enum.null: "NULL_VALUE"}
    for value in reversed(enum.values):
        names[value.value] = value.name
    return [row([str(number), literal(name)]) for number, name in sorted(names.items())]


def _choice(name: str, description: str) -> str:
    comment = f" COMMENT {_spark_text(description)}" if description.strip() else ""
    return f"{_spark_name(name)}: BOOLEAN{comment}"


def _spark_name(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _spark_text(text: str) -> str:
    plain = " ".join(text.split()).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{plain}'"


def _text(prefix: str, text: str) -> str:
    """A definition of a string, on several lines if it is long."""
    line = prefix + literal(text)
    if len(line) <= WIDTH:
        return line
    first, *others = pieces(literal(text), INDENT, "")
    return "\n".join([f"{prefix}(", first, *(f"{INDENT}{one}" for one in others), ")"])
