"""Which rows are no messages, and why: looked for only after decoding has failed.

Heads are checked for all rows at once, so that a column of another schema costs little; groups, data and texts row by row.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Reasons = dict[int, str]


def reason_of(error: Any) -> str:
    """What a ColumnsError says, without the place of the message in a buffer, which is not the user's."""
    return f"{error.where}: {error.what}: expected {error.expected}, found {error.actual}"


def damaged_messages(layout: Any, data: NDArray[np.uint8], starts: Ints, ends: Ints) -> Reasons:
    """Return the rows that are no message of a layout, and why."""
    reasons: Reasons = {}
    suspects = np.arange(len(starts), dtype=np.int64)
    for is_bad in (_too_short, _of_others):
        wrong = is_bad(layout, data, starts[suspects], ends[suspects])
        for key, rows in _alike(wrong):
            error = layout.problem(data, int(starts[suspects[rows[0]]]), int(ends[suspects[rows[0]]]))
            if key and error is not None:
                reasons.update(dict.fromkeys(suspects[rows].tolist(), reason_of(error)))
        suspects = suspects[wrong == 0]
    if layout.block.is_fixed:
        suspects = suspects[_short_blocks(layout, data, starts[suspects], ends[suspects])]
    for row in suspects.tolist():
        error = layout.problem(data, int(starts[row]), int(ends[row]))
        if error is not None:
            reasons[row] = reason_of(error)
    return reasons


def _alike(keys: Ints) -> Iterator[tuple[int, Ints]]:
    """Rows of equal key together."""
    if not len(keys):
        return
    order = np.argsort(keys, kind="stable")
    each, first = np.unique(keys[order], return_index=True)
    yield from zip(each.tolist(), np.split(order, first[1:]), strict=True)


def _too_short(layout: Any, _data: NDArray[np.uint8], starts: Ints, ends: Ints) -> Ints:
    """Rows that end within the header: a number for each length."""
    lengths = ends - starts
    return np.where(lengths < layout.header.size, lengths + 1, 0)


def _of_others(layout: Any, data: NDArray[np.uint8], starts: Ints, _ends: Ints) -> Ints:
    """Rows of another template or schema: a number for each pair."""
    header = layout.header
    templates, schemas = header.template_id.read(data, starts), header.schema_id.read(data, starts)
    is_other = (templates != layout.template_id) | (schemas != layout.schema_id)
    if not is_other.any():
        return np.zeros(len(starts), np.int64)
    pairs = np.stack([templates, schemas], axis=1)[is_other]
    numbers = np.zeros(len(starts), np.int64)
    numbers[is_other] = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1) + 1
    return numbers


def _short_blocks(layout: Any, data: NDArray[np.uint8], starts: Ints, ends: Ints) -> NDArray[np.bool_]:
    """Of messages that are a block and no more, those whose block is too short or ends beyond the row."""
    lengths, versions = layout.header.block_length.read(data, starts), layout.header.version.read(data, starts)
    each, index = np.unique(versions, return_inverse=True)
    least = np.array([layout.block.least_block_length(version) for version in each.tolist()], np.int64)
    is_bad: NDArray[np.bool_] = (lengths > ends - starts - layout.header.size) | (lengths < least[index.reshape(-1)])
    return is_bad


def damaged_texts(table: Any, columns: Any, path: str, row_of: Callable[[int], int]) -> Reasons:
    """Return the rows with a text that its encoding does not have; `table` and `columns` are those of a message or of entries."""
    reasons: Reasons = {}
    for row, where, encoding, raw in _texts(table.fields, columns, path):
        reasons.setdefault(row_of(row), f"{where}: is no text of its encoding: expected {encoding}, found {raw!r}")
    for group in table.groups:
        found = columns.groups[group.name]
        owner = np.searchsorted(found.offsets, np.arange(found.entries.count), side="right") - 1
        inner = damaged_texts(group.table, found.entries, f"{path}.{group.name}", lambda entry, owner=owner: row_of(int(owner[entry])))  # type: ignore[misc]
        reasons = {**inner, **reasons}
    for one in table.data:
        if one.encoding:
            data = columns.data[one.name]
            for row in range(len(data)):
                raw = bytes(data[row])
                if not _is_text(raw, one.encoding):
                    where = f"{path}.{one.name}"
                    reasons.setdefault(row_of(row), f"{where}: is no text of its encoding: expected {one.encoding}, found {raw!r}")
    return reasons


def _texts(fields: tuple[Any, ...], columns: Any, path: str) -> Iterator[tuple[int, str, str, bytes]]:
    """Rows of the texts in blocks that are none."""
    for one in fields:
        kind = type(one).__name__
        if kind == "CompositeColumn":
            yield from _texts(one.members, columns, f"{path}.{one.name}")
        elif kind == "TextColumn":
            each, index = np.unique(columns[one.path], return_inverse=True)
            whole = [_until_nul(raw.ljust(each.dtype.itemsize, b"\0"), one.encoding) for raw in each.tolist()]
            bad = {place: raw for place, raw in enumerate(whole) if not _is_text(raw, one.encoding)}
            if bad:
                rows = np.flatnonzero(np.isin(index, list(bad)))
                yield from ((row, f"{path}.{one.name}", one.encoding, bad[int(index[row])]) for row in rows.tolist())


def _until_nul(raw: bytes, encoding: str) -> bytes:
    codec = codecs.lookup(encoding).name
    unit = 2 if codec.startswith("utf-16") else 4 if codec.startswith("utf-32") else 1
    for place in range(0, len(raw) - unit + 1, unit):
        if not any(raw[place : place + unit]):
            return raw[:place]
    return raw


def _is_text(raw: bytes, encoding: str) -> bool:
    codec = codecs.lookup(encoding).name
    marks = {"utf-16": (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE), "utf-32": (codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE)}
    if codec in marks and not raw.startswith(marks[codec]):
        codec += "-be"
    try:
        raw.decode(codec)
    except UnicodeError:
        return False
    return True
