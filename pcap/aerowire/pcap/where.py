"""Conditions on columns, as `pyarrow.parquet` takes them: `[("type", "==", "NAK"), ("session_id", "in", [7, 8])]`.

A list of conditions holds where all of them do; a list of such lists where one of those does.  Rows in which a column is null satisfy no
condition on it but "is null".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

Condition = tuple[str, str, Any]
OPERATIONS: dict[str, Callable[[pa.Array, Any], pa.Array]] = {
    "==": pc.equal,
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
    "in": lambda column, values: pc.and_(pc.is_in(column, pa.array(list(values), type=column.type)), pc.is_valid(column)),
    "not in": lambda column, values: pc.and_(pc.invert(pc.is_in(column, pa.array(list(values), type=column.type))), pc.is_valid(column)),
    "is null": lambda column, _: pc.is_null(column),
    "is not null": lambda column, _: pc.is_valid(column),
}


@dataclass(frozen=True, slots=True)
class Where:
    """Alternatives, each of them conditions that must all hold. Invariant: every column is one of the schema's."""

    alternatives: tuple[tuple[Condition, ...], ...]

    @classmethod
    def parse(cls, given: Sequence[Any], schema: pa.Schema) -> Where:
        """Check conditions.  Raises ValueError for a column, an operation or a value that has no meaning."""
        alternatives = [given] if given and isinstance(given[0], tuple) else list(given)
        return cls(tuple(tuple(_checked(condition, schema) for condition in conditions) for conditions in alternatives))

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the conditions name."""
        return frozenset(condition[0] for conditions in self.alternatives for condition in conditions)

    def mask(self, batch: pa.RecordBatch) -> pa.Array:
        """Return which rows of a batch, which has the columns, satisfy the conditions."""
        return _any(_all(OPERATIONS[operation](batch.column(name), value) for name, operation, value in one) for one in self.alternatives)


TEXT = re.compile(r"\s*(\w+)\s*(==|!=|<=|>=|=|<|>|\bnot\s+in\b|\bin\b|\bis\s+not\s+null\b|\bis\s+null\b)\s*(.*?)\s*")


def parse_texts(texts: Iterable[str], schema: pa.Schema) -> list[Condition]:
    """Return the conditions of texts such as `type == NAK` and `session_id in 7,8`.  Raises ValueError for what is none."""
    found: list[Condition] = []
    for text in texts:
        match = TEXT.fullmatch(text)
        if match is None:
            raise ValueError(f"where: expected COLUMN OPERATION VALUE, such as type == NAK, found {text!r}")
        name, operation, value = match[1], " ".join(match[2].split()), match[3]
        if name not in schema.names:
            raise ValueError(f"where: no column is called {name!r}; there are {', '.join(schema.names)}")
        found.append((name, operation, _value_of(operation, value, schema.field(name))))
    return found


def _value_of(operation: str, text: str, field: pa.Field) -> Any:
    if operation.startswith("is"):
        return None
    values = [part.strip() for part in text.split(",")] if operation.endswith("in") else [text]
    try:
        found = pa.array(values, type=pa.string()).cast(field.type).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"where: {text!r} is no value for column {field.name}, which is {field.type}") from error
    return found if operation.endswith("in") else found[0]


def _checked(condition: object, schema: pa.Schema) -> Condition:
    if not isinstance(condition, tuple) or len(condition) != 3:
        raise ValueError(f"where: expected (column, operation, value), found {condition!r}")
    name, operation, value = condition
    if name not in schema.names:
        raise ValueError(f"where: no column is called {name!r}; there are {', '.join(schema.names)}")
    if operation not in OPERATIONS:
        raise ValueError(f"where: operation {operation!r} of column {name}: expected one of {', '.join(OPERATIONS)}")
    kind = schema.field(name).type
    try:
        if operation in ("in", "not in"):
            pa.array(list(value), type=kind)
        elif not operation.startswith("is"):
            value = pa.scalar(value, type=kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError) as error:
        raise ValueError(f"where: {value!r} is no value for column {name}, which is {kind}: {error}") from error
    return name, operation, value


def _all(masks: Iterable[pa.Array]) -> pa.Array:
    return _folded(masks, pc.and_)


def _any(masks: Iterable[pa.Array]) -> pa.Array:
    return _folded(masks, pc.or_)


def _folded(masks: Iterable[pa.Array], combine: Callable[[pa.Array, pa.Array], pa.Array]) -> pa.Array:
    result = None
    for mask in masks:
        certain = pc.fill_null(mask, False)
        result = certain if result is None else combine(result, certain)
    return result
