"""Which members of messages are asked for: tables without the others, which are then neither built nor handed on.

A path names a member, and what is below it where it is a composite, a set or a group: `price`, `price.mantissa`, `levels.quantity`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.pcap.sbe.errors import SbeSchemaError
from aerowire.pcap.sbe.schemas import Schema

Tree = dict[str, "Tree"]  # what is asked for below a member; nothing there: all of it
TABLES_MAX = 256  # of messages and what is asked for of them, that a process keeps


@lru_cache(maxsize=TABLES_MAX)
def tables_of(schema: Schema, message: str | None, members: tuple[str, ...] | None) -> dict[str, Any]:
    """Return the tables of a message, or of all that are asked for, by name; of these paths then begin with the message's name.

    Without `members` they are whole.  Members stay in the schema's order.  Raises SbeSchemaError for a member that there is not.
    """
    tables = {message: schema.table(message)} if message is not None else dict(schema.module.MESSAGES)
    if members is None:
        return tables
    if not members:
        raise SbeSchemaError("members: expected one at least; leave it out for all")
    tree = _tree(members)
    below = tree if message is None else {message: tree}
    _check_known(below, tables, schema.name)
    return {name: _pruned(table, below[name], name) for name, table in tables.items() if name in below}


def as_paths(members: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return members as they are kept.  Raises SbeSchemaError for a single text, which would be taken for its letters."""
    if isinstance(members, str):
        raise SbeSchemaError(f"members: expected a list of names, found the text {members!r}: [{members!r}]")
    return None if members is None else tuple(members)


def _tree(paths: Iterable[str]) -> Tree:
    tree: Tree = {}
    whole = set(paths)
    for path in sorted(whole):
        steps = path.split(".")
        if any(".".join(steps[:length]) in whole for length in range(1, len(steps))):
            continue  # all of what it is in is asked for
        below = tree
        for step in steps:
            below = below.setdefault(step, {})
    return tree


def _pruned(table: Any, tree: Tree, where: str) -> Any:
    if not tree:
        return table
    block = _block(table.table, tree, where)
    fields = [_field(one, tree[one.name]) for one in table.schema if one.name in tree]
    return replace(table, table=block, schema=pa.schema(fields, table.schema.metadata))


def _block(block: Any, tree: Tree, where: str) -> Any:
    every = {one.name: one for one in (*block.fields, *block.groups, *block.data)}
    _check_known(tree, every, where)
    kept = {
        kind: tuple(_column(one, tree[one.name], f"{where}.{one.name}") for one in getattr(block, kind) if one.name in tree)
        for kind in ("fields", "groups", "data")
    }
    return replace(block, **kept)


def _column(column: Any, tree: Tree, where: str) -> Any:
    if not tree:
        return column
    kind = type(column).__name__  # each schema has classes of its own
    if kind == "GroupColumn":
        return replace(column, table=_block(column.table, tree, where))
    if kind == "CompositeColumn":
        _check_known(tree, {one.name: one for one in column.members}, where)
        members = tuple(_column(one, tree[one.name], f"{where}.{one.name}") for one in column.members if one.name in tree)
        return replace(column, members=members)
    if kind == "SetColumn":
        _check_known(tree, dict(column.choices), where)
        for name, _ in column.choices:
            _check_known(tree.get(name, {}), {}, f"{where}.{name}")
        return replace(column, choices=tuple((name, bit) for name, bit in column.choices if name in tree))
    _check_known(tree, {}, where)
    return column


def _check_known(tree: Tree, known: dict[str, Any], where: str) -> None:
    for name in tree:
        if name not in known:
            there_are = f"; expected some of {', '.join(known)}" if known else ": it has none"
            raise SbeSchemaError(f"members: {where} has no member {name!r}{there_are}")


def _field(field: Any, tree: Tree) -> Any:
    return pa.field(field.name, _type(field.type, tree), field.nullable, field.metadata) if tree else field


def _type(type_: Any, tree: Tree) -> Any:
    if pa.types.is_list(type_):
        return pa.list_(pa.field(type_.value_field.name, _type(type_.value_type, tree), type_.value_field.nullable))
    return pa.struct([_field(one, tree[one.name]) for one in type_ if one.name in tree])
