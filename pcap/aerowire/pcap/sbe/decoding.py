"""From a column of messages to a column of structs: all rows of one kind at once, by the tables that the code generator made.

Rows that are no messages are looked for only where decoding has failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from aerowire.pcap.sbe.damage import Ints, Reasons, damaged_messages, damaged_texts, reason_of
from aerowire.pcap.sbe.errors import SbeColumnError, SbeSchemaError
from aerowire.pcap.sbe.members import as_paths, tables_of
from aerowire.pcap.sbe.schemas import Schema, SchemaLike, load_schema

TEMPLATE_ID: Final = "template_id"
CORRUPT_RECORD: Final = "_corrupt_record"
MODES: Final = ("PERMISSIVE", "FAILFAST")


def decode(
    array: Any,
    schema: SchemaLike,
    *,
    message: str | None = None,
    mode: str = "PERMISSIVE",
    corrupt_record: str = CORRUPT_RECORD,
    for_spark: bool = False,
    members: Iterable[str] | None = None,
    include_roots: Sequence[str | PathLike[str]] = (),
) -> Any:
    """Decode messages, each with its header, one a row, to structs.

    `array` is binary (of any width, or views of it); the result is an Array for an Array, a ChunkedArray for a ChunkedArray.  With the name
    of a `message`, a row has its members: enums are strings, sets structs of booleans, composites structs, groups lists of structs, data
    strings or bytes.  Without, it has `template_id` and a nullable member for each message of the schema; of a message that the schema does
    not have, `template_id` alone.  A null row stays one.  Bytes behind a message are passed over.

    A row that is no such message is, in the mode PERMISSIVE, null but for the reason, a member called `corrupt_record` ("": the row is
    null, and there is no such member).  In the mode FAILFAST it raises SbeColumnError, and there is no such member.  `for_spark` widens
    unsigned numbers, of which Spark has none.

    With `members` structs have these alone, in the schema's order: paths such as `price`, `price.mantissa`, `levels.quantity`, and
    without a `message` `Trade.price`.  What is not asked for is not built, and its text not checked; of messages that are not asked for,
    nothing is.

    `include_roots` are folders besides its own from which the file of a schema may include others.

    Raises SbeSchemaError for a schema that cannot be read or does not have the message or a member.
    """
    plan = Plan.of(load_schema(schema, include_roots=include_roots), message, mode, corrupt_record, for_spark=for_spark, members=members)
    if not isinstance(array, pa.ChunkedArray):
        return plan.decode(array)
    chunks, first = [], 0
    for chunk in array.chunks:
        try:
            chunks.append(plan.decode(chunk))
        except SbeColumnError as error:
            raise SbeColumnError(first + error.row, error.reason) from None
        first += len(chunk)
    return pa.chunked_array(chunks, plan.type)


@dataclass(frozen=True)
class Plan:
    """What decoding a column needs to know; can be pickled.  `corrupt_record` is empty where there is no such member."""

    schema: Schema
    message: str | None
    fail_fast: bool
    corrupt_record: str
    for_spark: bool = False
    members: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        schema: Schema,
        message: str | None,
        mode: str,
        corrupt_record: str,
        *,
        for_spark: bool,
        members: Iterable[str] | None = None,
    ) -> Plan:
        """Check arguments.  Raises SbeSchemaError."""
        if mode.upper() not in MODES:
            raise SbeSchemaError(f"mode: expected one of {', '.join(MODES)}, found {mode!r}")
        fail_fast = mode.upper() == "FAILFAST"
        plan = cls(schema, message, fail_fast, "" if fail_fast else corrupt_record, for_spark, as_paths(members))
        twice = sorted(name for name, count in Counter(one.name for one in plan.type).items() if count > 1)
        if twice and message is None and TEMPLATE_ID in twice:
            raise SbeSchemaError(f"{schema.name}: has a message {TEMPLATE_ID!r}, as the member of template ids is called; name a message")
        if twice and plan.corrupt_record in twice:
            raise SbeSchemaError(f"corrupt_record: {plan.corrupt_record!r} is also a member of {message or 'the result'}: choose another")
        return plan

    @property
    def type(self) -> Any:
        """The type of the structs."""
        if self.message is None:
            fields = [pa.field(TEMPLATE_ID, pa.int64()), *(pa.field(name, self._type_of(table)) for name, table in self.tables.items())]
        else:
            fields = list(self._type_of(self.tables[self.message]))
        return pa.struct([*fields, *([pa.field(self.corrupt_record, pa.string())] if self.corrupt_record else [])])

    @property
    def tables(self) -> dict[str, Any]:
        """The tables of the messages that are asked for, with the members that are."""
        return tables_of(self.schema, self.message, self.members)

    def _type_of(self, table: Any) -> Any:
        return pa.struct(list(table.spark_schema if self.for_spark else table.schema))

    def decode(self, array: Any) -> Any:
        """Decode an Array."""
        rows = Rows.of(array)
        arrays, damage = self._one_kind(rows) if self.message is not None else self._all_kinds(rows)
        if damage and self.fail_fast:
            row = min(damage)
            raise SbeColumnError(row, damage[row])
        mask = ~rows.is_valid
        if self.corrupt_record:
            texts = np.full(len(mask), None, object)
            texts[list(damage)] = list(damage.values())
            arrays = [*arrays, pa.array(texts, pa.string())]
        else:
            mask[list(damage)] = True
        return struct_of(arrays, self.type, mask)

    def _one_kind(self, rows: Rows) -> tuple[list[Any], Reasons]:
        table = self.tables[str(self.message)]
        found = self._of_kind(table, rows, np.flatnonzero(rows.is_valid))
        return _placed(found, len(rows.is_valid)).flatten(), found.reasons

    def _all_kinds(self, rows: Rows) -> tuple[list[Any], Reasons]:
        count, module = len(rows.is_valid), self.schema.module
        layout = module.SCHEMA.layout
        size, room = layout.header.size, rows.ends - rows.starts
        damage = {
            row: f"header: header beyond the end: expected {size} bytes, found {int(room[row])}"
            for row in np.flatnonzero(rows.is_valid & (room < size)).tolist()
        }
        whole = np.flatnonzero(rows.is_valid & (room >= size))
        if layout.messages:
            schema_id, ids = layout.messages[0].schema_id, layout.header.schema_id.read(rows.data, rows.starts[whole])
            others = ids != schema_id
            texts = {one: f"header: schema id: expected {schema_id}, found {one}" for one in np.unique(ids[others]).tolist()}
            damage |= {row: texts[one] for row, one in zip(whole[others].tolist(), ids[others].tolist(), strict=True)}
            whole = whole[~others]
        templates, has_template = np.zeros(count, np.int64), np.zeros(count, np.bool_)
        templates[whole], has_template[whole] = layout.header.template_id.read(rows.data, rows.starts[whole]), True
        arrays = [pa.array(templates, mask=~has_template)]
        for table in self.tables.values():
            mine = whole[templates[whole] == table.layout.template_id]
            if len(mine):
                found = self._of_kind(table, rows, mine)
                damage |= found.reasons
                arrays.append(_placed(found, count))
            else:
                arrays.append(pa.nulls(count, self._type_of(table)))
        return arrays, damage

    def _of_kind(self, table: Any, rows: Rows, which: Ints) -> Found:
        return _decode_rows(self.schema.module.ColumnsError, table, rows, which, for_spark=self.for_spark)


@dataclass(frozen=True)
class Rows:
    """The messages of a column: row i is `data` from `starts[i]` to `ends[i]`."""

    data: NDArray[np.uint8]
    starts: Ints
    ends: Ints
    is_valid: NDArray[np.bool_]

    @classmethod
    def of(cls, array: Any) -> Rows:
        """Take the bytes of an Array without copying them.  Raises TypeError for one that is not binary."""
        type_ = array.type
        if pa.types.is_dictionary(type_):
            array = array.dictionary_decode()
        elif pa.types.is_null(type_) or pa.types.is_fixed_size_binary(type_):
            array = array.cast(pa.binary())
        elif str(type_) == "binary_view":
            array = array.cast(pa.large_binary())
        if not (pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type)):
            raise TypeError(f"a column of messages: expected binary, found {type_}")
        count, (_, places, octets) = len(array), array.buffers()
        is_valid = np.asarray(array.is_valid())
        if not count or places is None:
            return cls(np.empty(0, np.uint8), np.zeros(count, np.int64), np.zeros(count, np.int64), is_valid)
        kind = np.dtype(np.int64 if pa.types.is_large_binary(array.type) else np.int32)
        offsets = np.frombuffer(places, kind, count + 1, array.offset * kind.itemsize).astype(np.int64)
        data = np.empty(0, np.uint8) if octets is None or not octets.size else np.frombuffer(octets, np.uint8)
        return cls(data, offsets[:-1], offsets[1:], is_valid)


@dataclass(frozen=True)
class Found:
    """Messages of one kind: a struct for each of `rows`; the other rows have a reason."""

    structs: Any
    rows: Ints
    reasons: Reasons = field(default_factory=dict)


def _decode_rows(columns_error: type[Any], table: Any, rows: Rows, which: Ints, *, for_spark: bool) -> Found:
    """Decode rows of one kind; those that are damaged are left out, each with its reason."""
    reasons: Reasons = {}
    layout, data = table.layout, rows.data
    while True:
        starts, ends = rows.starts[which], rows.ends[which]
        try:
            columns = layout.decode(data, starts, ends=ends)
        except columns_error as error:
            bad = damaged_messages(layout, data, starts, ends)
            if not bad and len(which) > 1:  # each for itself is sound, but together they have too many entries without bytes
                half = len(which) // 2
                parts = [_decode_rows(columns_error, table, rows, part, for_spark=for_spark) for part in (which[:half], which[half:])]
                structs = pa.concat_arrays([part.structs for part in parts])
                return Found(structs, np.concatenate([part.rows for part in parts]), reasons | parts[0].reasons | parts[1].reasons)
            bad = bad or {0: reason_of(error)}
        else:
            try:
                return Found(table.batch(columns, for_spark=for_spark).to_struct_array(), which, reasons)
            except columns_error as error:
                bad = damaged_texts(table.table, columns, layout.name, int) or {error.message: reason_of(error)}
        reasons |= {int(which[row]): reason for row, reason in bad.items()}
        which = np.delete(which, list(bad))


def _placed(found: Found, count: int) -> Any:
    """The structs at their rows among `count`, null elsewhere."""
    if len(found.rows) == count:
        return found.structs
    places = np.full(count, -1, np.int64)
    places[found.rows] = np.arange(len(found.rows))
    return found.structs.take(pa.array(places, mask=places < 0))


def struct_of(arrays: list[Any], type_: Any, is_null: NDArray[np.bool_]) -> Any:
    """Structs of members, which may be none."""
    if not arrays:
        return pa.array([None if one else {} for one in is_null.tolist()], type_)
    return pa.StructArray.from_arrays(arrays, fields=list(type_), mask=pa.array(is_null) if is_null.any() else None)
