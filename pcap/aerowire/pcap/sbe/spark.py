"""`sbe_decode` and `sbe_encode`: what `decode` and `encode` do, as expressions over columns of Spark; `sbe_columns`, over a DataFrame.

Executors get the text of generated tables inside the expression, never the path of a schema; they need aerowire, NumPy and pyarrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import functions
from pyspark.sql.functions import col
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import BinaryType, DataType, StructType

from aerowire.pcap.sbe.decoding import CORRUPT_RECORD, Plan
from aerowire.pcap.sbe.encoding import encode_array
from aerowire.pcap.sbe.errors import SbeSchemaError
from aerowire.pcap.sbe.schemas import SchemaLike, load_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from os import PathLike

    from pyspark.sql import Column, DataFrame


def sbe_decode(
    column: Column | str,
    schema: SchemaLike,
    message: str | None = None,
    *,
    mode: str = "PERMISSIVE",
    corrupt_record: str = CORRUPT_RECORD,
    members: Iterable[str] | None = None,
    include_roots: Sequence[str | PathLike[str]] = (),
) -> Column:
    """Return a column of structs for a binary column of messages, each with its header.

    The arguments are those of `decode`; unsigned numbers become the next wider ones, uint64 `decimal(20,0)`.  `message` is needed but for
    columns with several kinds of messages.  In the mode FAILFAST a damaged row fails the query, with its number within the batch that Spark
    handed over.  Raises SbeSchemaError at once, on the driver.
    """
    plan = Plan.of(load_schema(schema, include_roots=include_roots), message, mode, corrupt_record, for_spark=True, members=members)

    def decoded(array: pa.Array) -> pa.Array:
        return plan.decode(array)

    return _arrow_udf(decoded, spark_type(plan), f"sbe_decode_{message or 'any'}")(_column(column))


def sbe_columns(
    frame: DataFrame,
    column: str,
    schema: SchemaLike,
    message: str | None = None,
    *,
    keep: Iterable[str] = (),
    mode: str = "PERMISSIVE",
    corrupt_record: str = CORRUPT_RECORD,
    members: Iterable[str] | None = None,
    include_roots: Sequence[str | PathLike[str]] = (),
) -> DataFrame:
    """Return a DataFrame of what is in a binary column of messages: the members themselves as columns, behind those to `keep`.

    The arguments are those of `sbe_decode`, the rows the same: one a message, its members null where it is null or damaged.  Whole batches
    go to Python and come back, where a function of columns has Spark put its result beside each row; that costs more than decoding.
    """
    plan = Plan.of(load_schema(schema, include_roots=include_roots), message, mode, corrupt_record, for_spark=True, members=members)
    kept = list(keep)
    made = spark_type(plan)
    twice = sorted(set(kept) & set(made.fieldNames()))
    if twice:
        raise SbeSchemaError(f"keep: {twice[0]!r} is also a member of {message or 'the result'}: rename it, or choose members without it")
    chosen = frame.select(*kept, frame[column].alias("message") if column in kept else column)

    def decoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            *others, messages = batch.columns
            structs = plan.decode(messages)
            yield pa.RecordBatch.from_arrays([*others, *structs.flatten()], names=[*kept, *made.fieldNames()])

    return chosen.mapInArrow(decoded, StructType([*chosen.schema.fields[: len(kept)], *made.fields]))


def sbe_encode(
    column: Column | str,
    schema: SchemaLike,
    message: str | None = None,
    *,
    version: int | None = None,
    include_roots: Sequence[str | PathLike[str]] = (),
) -> Column:
    """Return a binary column of messages for a column of structs.

    The arguments are those of `encode`.  A value that no message can hold fails the query, with its row within the batch and its path.
    Raises SbeSchemaError at once, on the driver.
    """
    loaded = load_schema(schema, include_roots=include_roots)
    acting = loaded.acting_version(version)
    if message is not None:
        loaded.table(message)

    def encoded(array: pa.Array) -> pa.Array:
        return encode_array(array, loaded, message, acting)

    return _arrow_udf(encoded, BinaryType(), f"sbe_encode_{message or 'any'}")(_column(column))


def spark_type(plan: Plan) -> StructType:
    """Return the type of what `sbe_decode` returns."""
    return from_arrow_schema(pa.schema(list(plan.type)))


def _column(column: Column | str) -> Column:
    return col(column) if isinstance(column, str) else column


def _arrow_udf(function: Callable[[Any], Any], type_: DataType, name: str) -> Callable[[Column], Column]:
    """A function of whole Arrow arrays.  `function` has its types in its annotations, by which PySpark tells what it takes."""
    if not hasattr(functions, "arrow_udf"):
        raise SbeSchemaError("sbe_decode and sbe_encode hand whole Arrow arrays to Python, which PySpark can from 4.1 on: upgrade it")
    function.__name__ = name
    made: Callable[[Column], Column] = functions.arrow_udf(function, type_)
    return made
