"""Filters that Spark hands to a data source, as conditions on columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from aerowire.pcap.where import Condition, Where

COMPARISONS = {EqualTo: "==", GreaterThan: ">", GreaterThanOrEqual: ">=", LessThan: "<", LessThanOrEqual: "<=", In: "in"}
PRESENCE = {IsNull: "is null", IsNotNull: "is not null"}
NEGATED = {"==": "!=", "in": "not in", "is null": "is not null", "is not null": "is null"}


def conditions(filters: Iterable[Filter], schema: pa.Schema) -> Iterator[tuple[Filter, Condition | None]]:
    """Yield each filter with the condition that is the same, or None where there is none on a column of the schema."""
    for one in filters:
        condition = _condition(one)
        try:
            Where.parse([condition], schema)
        except ValueError:
            condition = None
        yield one, condition


def _condition(one: Filter) -> Condition | None:
    if isinstance(one, Not):
        inner = _condition(one.child)
        return None if inner is None or inner[1] not in NEGATED else (inner[0], NEGATED[inner[1]], inner[2])
    name = ".".join(getattr(one, "attribute", ()))
    if type(one) in PRESENCE:
        return name, PRESENCE[type(one)], None
    value = getattr(one, "value", None)
    if type(one) not in COMPARISONS or value is None or (isinstance(one, In) and None in one.value):
        return None
    return name, COMPARISONS[type(one)], value
