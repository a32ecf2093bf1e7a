"""Arrow schemas: for each table of types, one row per struct with the union of all their members as columns.

Spark compares schemas exactly and has no unsigned numbers, so narrow ones widen to int32, and every column may be null.
"""

from __future__ import annotations

from dataclasses import dataclass

from aerowire.codegen.layouts.ir import Dynamic, Field, Repeat, Schema, Struct, Var, Variant
from aerowire.codegen.layouts.targets.base import LayoutProject
from aerowire.codegen.names import upper
from aerowire.codegen.primitives import Primitive
from aerowire.codegen.rendering.base import header, module_path, package_files, render


@dataclass(frozen=True)
class Column:
    """A column: its Arrow type as an expression, and its Spark type as DDL."""

    name: str
    arrow: str
    ddl: str


class ArrowTarget:
    """Renders one module per schema that has a table of types."""

    name = "arrow"

    def render(self, project: LayoutProject) -> dict[str, str]:
        files = package_files(self.name, "Arrow schemas, one module per schema with a table of types.")
        for schema in project.schemas:
            if not schema.variants:
                continue
            files[module_path(self.name, schema.package)] = render(
                "layouts/templates/arrow.py.j2",
                header=header(f"{schema.package}.xml"),
                description=schema.description,
                tables=[_table(schema, variant) for variant in schema.variants],
            )
        return files


def _table(schema: Schema, variant: Variant) -> tuple[str, str, list[Column], list[tuple[int, str, list[str]]], str]:
    """Name, description, columns, the columns of each type, and the DDL of all of them."""
    columns: dict[str, Column] = {"type": Column("type", "pa.string()", "STRING")}
    cases: list[tuple[int, str, list[str]]] = []
    for case in variant.cases:
        if case.struct is None:
            continue
        own = _columns(schema, schema.struct(case.struct))
        for column in own:
            columns.setdefault(column.name, column)
        cases.append((case.value, case.value_name, [column.name for column in own if column.name != "type"]))
    ddl = ", ".join(f"{column.name} {column.ddl}" for column in columns.values())
    return upper(variant.name), variant.description, list(columns.values()), cases, ddl


def _columns(schema: Schema, struct: Struct) -> list[Column]:
    found = [_field(field) for field in struct.fields]
    found += [Column(one.name, "pa.binary()", "BINARY") for one in struct.fixed_variants]
    return found + [_dynamic(schema, member) for member in struct.dynamic]


def _field(field: Field) -> Column:
    arrow, ddl = _number(field.primitive)
    if field.count is None:
        return Column(field.name, arrow, ddl)
    if field.primitive.size == 1:
        return Column(field.name, "pa.binary()", "BINARY")
    return Column(field.name, f"pa.list_({arrow})", f"ARRAY<{ddl}>")


def _number(primitive: Primitive) -> tuple[str, str]:
    if primitive.is_float:
        return ("pa.float32()", "FLOAT") if primitive.size == 4 else ("pa.float64()", "DOUBLE")
    fits_int32 = primitive.size < 4 or (primitive.size == 4 and primitive.signed)
    return ("pa.int32()", "INT") if fits_int32 else ("pa.int64()", "BIGINT")


def _dynamic(schema: Schema, member: Dynamic) -> Column:
    if isinstance(member, Var):
        return Column(member.name, "pa.string()", "STRING") if member.encoding else Column(member.name, "pa.binary()", "BINARY")
    if isinstance(member, Repeat):
        inner = _columns(schema, schema.struct(member.struct))
        fields = ", ".join(f'pa.field("{column.name}", {column.arrow})' for column in inner)
        ddl = ", ".join(f"{column.name}: {column.ddl}" for column in inner)
        return Column(member.name, f"pa.list_(pa.struct([{fields}]))", f"ARRAY<STRUCT<{ddl}>>")
    return Column(member.name, "pa.binary()", "BINARY")
