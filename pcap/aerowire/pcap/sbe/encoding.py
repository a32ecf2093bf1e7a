"""From a column of structs to a column of messages: values are converted column by column, and put into place for all rows at once.

`prepare` converts what a block holds and knows how long it becomes; `Prepared.write` puts blocks at positions that are known then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from numpy.typing import NDArray

from aerowire.pcap.sbe import values
from aerowire.pcap.sbe.damage import Ints
from aerowire.pcap.sbe.decoding import CORRUPT_RECORD, TEMPLATE_ID, struct_of
from aerowire.pcap.sbe.errors import SbeColumnError
from aerowire.pcap.sbe.schemas import Schema, SchemaLike, load_schema
from aerowire.pcap.sbe.values import Target, UnfitError, members_of

BYTES_MAX: Final = (1 << 31) - 1


def encode(
    array: Any,
    schema: SchemaLike,
    *,
    message: str | None = None,
    version: int | None = None,
    include_roots: Sequence[str | PathLike[str]] = (),
) -> Any:
    """Encode structs, as `decode` makes them, to messages with their headers.

    With the name of a `message`, a struct has its members; without, a member for each message, of which at most one is not null.  A null
    row, one without any message, and one with a reason in `_corrupt_record` become null.  Members may be missing, which is as if they were
    null: null of a field that cannot be null is an error, no entries of a group, no bytes of data.  Constants are not looked at.

    `version` writes messages as they were in an older version of the schema; what is newer is left out.  `include_roots` are folders
    besides its own from which the file of a schema may include others.  The result is a BinaryArray, a
    ChunkedArray for a ChunkedArray.  Raises SbeColumnError for a value that no message can hold, and SbeSchemaError.
    """
    loaded = load_schema(schema, include_roots=include_roots)
    acting = loaded.acting_version(version)
    if message is not None:
        loaded.table(message)
    if not isinstance(array, pa.ChunkedArray):
        return encode_array(array, loaded, message, acting)
    chunks, first = [], 0
    for chunk in array.chunks:
        try:
            chunks.append(encode_array(chunk, loaded, message, acting))
        except SbeColumnError as error:
            raise SbeColumnError(first + error.row, error.reason) from None
        first += len(chunk)
    return pa.chunked_array(chunks, pa.binary())


def encode_array(array: Any, schema: Schema, message: str | None, version: int) -> Any:
    """Encode an Array."""
    names = [message] if message is not None else list(schema.messages)
    is_there = np.asarray(array.is_valid())
    if not _has(schema, message, CORRUPT_RECORD):
        array, is_sound = _without_reasons(array)
        is_there = is_there & is_sound
    if message is not None:
        return _encode_kinds(schema, [(message, array, np.flatnonzero(is_there))], len(array), version)
    try:
        kinds = members_of(array, schema.name, {TEMPLATE_ID, *names})
    except UnfitError as error:
        raise SbeColumnError(error.index, f"{error.path}: {error.what}") from None
    every, seen = [], np.zeros(len(array), np.bool_)
    for name in names:
        if name in kinds and not pa.types.is_null(kinds[name].type):
            mine = np.asarray(kinds[name].is_valid()) & is_there
            if (seen & mine).any():
                raise SbeColumnError(int((seen & mine).argmax()), f"{schema.name}: expected one message, found {name} and another")
            seen |= mine
            every.append((name, kinds[name], np.flatnonzero(mine)))
    return _encode_kinds(schema, every, len(array), version)


def _without_reasons(array: Any) -> tuple[Any, NDArray[np.bool_]]:
    """Structs without the member of reasons, and which have no reason."""
    names = [one.name for one in array.type] if pa.types.is_struct(array.type) else []
    if CORRUPT_RECORD not in names:
        return array, np.ones(len(array), np.bool_)
    members = dict(zip(names, array.flatten(), strict=True))
    is_sound = np.asarray(members.pop(CORRUPT_RECORD).is_null())
    is_null = ~is_sound | np.asarray(array.is_null())
    return struct_of(list(members.values()), pa.struct([pa.field(name, one.type) for name, one in members.items()]), is_null), is_sound


def _has(schema: Schema, message: str | None, name: str) -> bool:
    return name in (schema.messages if message is None else schema.table(message).schema.names)


def _encode_kinds(schema: Schema, kinds: list[tuple[str, Any, Ints]], count: int, version: int) -> Any:
    """Encode rows of several messages to one column."""
    sizes = np.zeros(count, np.int64)
    is_null = np.ones(count, np.bool_)
    prepared: list[tuple[Any, Ints, Prepared]] = []
    for name, array, rows in kinds:
        table = schema.table(name)
        try:
            part = prepare(table.layout.block, table.table, array if len(rows) == count else array.take(pa.array(rows)), name, version)
        except UnfitError as error:
            row = int(rows[error.index]) if len(rows) else 0
            raise SbeColumnError(row, f"{error.path}: {error.what}") from None
        prepared.append((table.layout, rows, part))
        sizes[rows] = part.sizes + table.layout.header.size
        is_null[rows] = False
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    if offsets[-1] > BYTES_MAX:
        raise ValueError(f"a column of messages: expected at most {BYTES_MAX} bytes, actual {offsets[-1]}; encode fewer rows at once")
    out = np.zeros(int(offsets[-1]), np.uint8)
    for layout, rows, part in prepared:
        starts = offsets[rows]
        _write_header(out, starts, layout, part.block_length, version)
        part.write(out, starts + layout.header.size)
    validity = pa.array(~is_null).buffers()[1] if is_null.any() else None
    return pa.Array.from_buffers(pa.binary(), count, [validity, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(out)])


def _write_header(out: NDArray[np.uint8], starts: Ints, layout: Any, block_length: int, version: int) -> None:
    header = layout.header
    told = ((header.block_length, block_length), (header.template_id, layout.template_id))
    for integer, value in (*told, (header.schema_id, layout.schema_id), (header.version, version)):
        if integer.constant is None:
            _put(out, starts, integer.offset, integer.format, np.full(len(starts), value, np.int64))


@dataclass(frozen=True)
class Part:
    """What follows blocks: groups with their entries, or data with their bytes; `counts` entries or bytes behind each block.

    `sizes` are those of everything, the part in front included.
    """

    layout: Any
    counts: Ints
    sizes: Ints
    content: Prepared | NDArray[np.uint8]


@dataclass(frozen=True)
class Prepared:
    """Blocks that are ready to be written: each takes `sizes` bytes, with what follows it."""

    block_length: int
    fields: list[tuple[Any, NDArray[Any]]]
    parts: list[Part]
    sizes: Ints

    def write(self, out: NDArray[np.uint8], positions: Ints) -> None:
        """Write each at its position."""
        for layout, column in self.fields:
            _put(out, positions, layout.offset, layout.format, column)
        positions = positions + self.block_length
        for part in self.parts:
            starts = positions + part.layout.size
            if isinstance(part.content, Prepared):
                _put_integer(out, positions, part.layout.block_length, np.full(len(positions), part.content.block_length, np.int64))
                _put_integer(out, positions, part.layout.count, part.counts)
                part.content.write(out, _spread(starts, part.counts, part.content.sizes))
            else:
                _put_integer(out, positions, part.layout.length, part.counts)
                out[np.repeat(starts, part.counts) + _within(part.counts)] = part.content
            positions = positions + part.sizes


def prepare(layout: Any, table: Any, array: Any, path: str, version: int) -> Prepared:
    """Convert structs to what blocks of a version hold.  Raises UnfitError."""
    known = {one.name for one in (*table.fields, *table.groups, *table.data)}
    members = members_of(array, path, known)
    if array.null_count:
        raise UnfitError(values.first(array.is_null()), path, "expected a struct, found null")
    places = {one.name: one for one in layout.fields if one.since_version <= version}
    fields = _fields(table.fields, members, places, path, np.zeros(len(array), np.bool_))
    is_whole = len(places) == len(layout.fields)
    block_length = int(layout.dtype.itemsize) if is_whole else int(layout.least_block_length(version))
    encodings = {column.name: column.encoding for column in table.data}
    parts: list[Part] = []
    for group, column in zip(layout.groups, table.groups, strict=True):
        if group.since_version <= version:
            parts.append(_group(group, column, members.get(group.name), f"{path}.{group.name}", version, len(array)))
    for one in layout.data:
        if one.since_version <= version:
            parts.append(_data(one, encodings[one.name], members.get(one.name), f"{path}.{one.name}", len(array)))
    sizes = np.full(len(array), block_length, np.int64)
    for part in parts:
        sizes += part.sizes
    return Prepared(block_length, fields, parts, sizes)


def _fields(
    columns: Any, members: dict[str, Any], places: dict[str, Any], path: str, is_null: NDArray[np.bool_]
) -> list[tuple[Any, NDArray[Any]]]:
    """Convert the values of fields or of members; `is_null` are the rows without the composite that has them."""
    count = len(is_null)
    found: list[tuple[Any, NDArray[Any]]] = []
    for one in columns:
        kind, where = type(one).__name__, f"{path}.{one.name}"
        array = members.get(one.name)
        if array is None:
            array = pa.nulls(count)
        if kind == "CompositeColumn":
            inner = members_of(array, where, {member.name for member in one.members})
            # Members have nulls of their own, which others than null structs need not be able to say.
            is_missing = is_null | np.asarray(array.is_null()) if one.nulls else is_null
            found += _fields(one.members, inner, places, where, is_missing)
        elif kind != "ConstantColumn" and one.path in places:
            found.append((places[one.path], _present(one, kind, Target(places[one.path], where), array, is_null)))
    return found


def _present(column: Any, kind: str, target: Target, array: Any, is_null: NDArray[np.bool_]) -> NDArray[Any]:
    """The values of a member; its null where the composite that it is in is null."""
    if not is_null.any():
        return _values(column, kind, target, array)
    rows = np.flatnonzero(~is_null)
    try:
        there = _values(column, kind, target, array.take(pa.array(rows)))
    except UnfitError as error:
        raise UnfitError(int(rows[error.index]) if len(rows) else 0, error.path, error.what) from None
    every = np.empty((len(is_null), *there.shape[1:]), there.dtype)
    every[is_null] = target.layout.fill
    every[rows] = there
    return every


def _values(column: Any, kind: str, target: Target, array: Any) -> NDArray[Any]:
    if kind == "NumberColumn":
        return values.numbers(target, array)
    if kind == "CharacterColumn":
        return values.characters(target, array)
    if kind == "TextColumn":
        return values.texts(target, array, column.encoding)
    if kind == "EnumColumn":
        return values.enums(target, array, column.names)
    return values.sets(target, array, column.choices)


def _group(layout: Any, column: Any, array: Any, path: str, version: int, count: int) -> Part:
    if array is None or pa.types.is_null(array.type):
        array = pa.nulls(count, pa.list_(pa.struct([])))
    if not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type) or pa.types.is_fixed_size_list(array.type)):
        raise UnfitError(0, path, f"expected lists of structs, found {array.type}")
    counts = np.asarray(pc.fill_null(pc.list_value_length(array), 0)).astype(np.int64)
    _check_fits(layout.count, counts, path, "entries")
    ends = np.cumsum(counts)
    try:
        entries = prepare(layout.block, column.table, array.flatten(), path, version)
    except UnfitError as error:
        raise UnfitError(int(np.searchsorted(ends, error.index, side="right")), error.path, error.what) from None
    totals = np.concatenate([np.zeros(1, np.int64), np.cumsum(entries.sizes)])
    return Part(layout, counts, layout.size + totals[ends] - totals[ends - counts], entries)


def _data(layout: Any, encoding: str, array: Any, path: str, count: int) -> Part:
    array = values.encoded(Target(layout, path), pa.nulls(count) if array is None else array, encoding)
    counts = np.asarray(pc.fill_null(pc.binary_length(array), 0)).astype(np.int64)
    _check_fits(layout.length, counts, path, "bytes")
    return Part(layout, counts, layout.size + counts, values.flat_bytes(array))


def _check_fits(integer: Any, counts: Ints, path: str, what: str) -> None:
    """Raise UnfitError for a number that the integer in front cannot say."""
    if integer.constant is not None:
        wrong, expected = counts != integer.constant, f"{integer.constant}"
    else:
        most = int(np.iinfo(integer.format).max)
        wrong, expected = counts > most, f"at most {most}"
    if wrong.any():
        index = int(wrong.argmax())
        raise UnfitError(index, path, f"expected {expected} {what}, found {counts[index]}")


def _within(counts: Ints) -> Ints:
    """0, 1, 2, ... for each count, one behind the other."""
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1]) if len(ends) else 0, dtype=np.int64) - np.repeat(ends - counts, counts)


def _spread(starts: Ints, counts: Ints, sizes: Ints) -> Ints:
    """Where each entry starts, that takes `sizes`, when those of row i follow each other from `starts[i]`."""
    before = np.cumsum(sizes) - sizes
    heads = np.cumsum(counts) - counts
    first = np.zeros(len(counts), np.int64)
    has_any = counts > 0
    first[has_any] = before[heads[has_any]]
    places: Ints = np.repeat(starts - first, counts) + before
    return places


def _put_integer(out: NDArray[np.uint8], positions: Ints, integer: Any, numbers: Ints) -> None:
    if integer.constant is None:
        _put(out, positions, integer.offset, integer.format, numbers)


def _put(out: NDArray[np.uint8], positions: Ints, offset: int, format: str, column: NDArray[Any]) -> None:
    """Put a value at an offset from each position: through a view of every place where one could stand."""
    kind = np.dtype(format)
    width = kind.itemsize * (column.shape[1] if column.ndim > 1 else 1)
    if not len(positions) or not width:
        return
    shape = (len(out) - width + 1, *column.shape[1:])
    anywhere: NDArray[Any] = np.ndarray(shape, kind, out, 0, (1, *([kind.itemsize] if column.ndim > 1 else [])))
    anywhere[positions + offset] = column
