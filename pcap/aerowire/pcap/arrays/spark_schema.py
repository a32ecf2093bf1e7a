"""Arrow schemas as Spark's."""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]

DDL_TYPES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
}
# Spark has no unsigned integers: the next wider one holds them.
UNSIGNED = {pa.uint8(): "SMALLINT", pa.uint16(): "INT", pa.uint32(): "BIGINT"}


def ddl(kind: pa.DataType) -> str:
    """Return Spark's name for an Arrow type."""
    if pa.types.is_list(kind):
        return f"ARRAY<{ddl(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(f'{member.name}: {ddl(member.type)}' for member in kind)}>"
    return DDL_TYPES.get(kind) or UNSIGNED[kind]


def schema_ddl(schema: pa.Schema) -> str:
    """Return a Spark schema for an Arrow one."""
    return ", ".join(f"{field.name} {ddl(field.type)}" for field in schema)
