"""Members of messages that are asked for by their paths: what is decoded of all of them, without the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.reader import load_message_schema
from aerowire.pcap.sbe import SbeSchemaError, decode, load_schema
from tests.codegen.sbe.plain_messages import Writer
from tests.codegen.sbe.random_messages import own_schema

MARKET = Path(__file__).parents[3] / "examples" / "schemas" / "market.xml"
OWN = ("garage", "orders", "sensors", "shop", "shown", "trading", "market")
CORRUPT = "_corrupt_record"
TRADE = bytes.fromhex("260001002a00010041434d450000000000002a36fe9c971744d61200000000000a0000004201ffffffffffffffff")
BOOK = bytes.fromhex("100002002a00010041434d450000000005000000000000000d000100420a000000000000006400000007006f70656e696e67")
# A book whose note is no UTF-8.
BOOK_OF_NO_TEXT = BOOK[:-1] + b"\xff"


def schema_of(name: str) -> MessageSchema:
    return load_message_schema(MARKET) if name == "market" else own_schema(name)


def paths_of(type_: Any, where: str = "") -> Iterator[str]:
    """Every path of a type, of what is within others too."""
    inner = type_.value_type if pa.types.is_list(type_) else type_
    if pa.types.is_struct(inner):
        for one in inner:
            yield where + one.name
            yield from paths_of(one.type, f"{where}{one.name}.")


def chosen_of(value: Any, paths: list[list[str]]) -> Any:
    """The dumb twin: walk through plain values and leave out what no path leads to."""
    if any(not path for path in paths) or value is None:
        return value
    if isinstance(value, list):
        return [chosen_of(one, paths) for one in value]
    kept = {}
    for name, one in value.items():
        below = [path[1:] for path in paths if path[0] == name]
        if below:
            kept[name] = chosen_of(one, below)
    return kept


@pytest.mark.parametrize("for_spark", [False, True])
@pytest.mark.parametrize("name", OWN)
def test_members_are_those_of_whole_messages(name: str, for_spark: bool, seed: int) -> None:
    rng = Random(seed)
    schema = schema_of(name)
    for message in schema.messages:
        writer = Writer(schema, rng)
        rows: list[bytes | None] = [writer.message(message)[0] for _ in range(40)]
        rows += [row[: rng.randrange(len(row))] for row in rows[:10] if row] + [None, b""]
        rng.shuffle(rows)
        array = pa.array(rows, pa.binary())
        whole = decode(array, schema, message=message.name, for_spark=for_spark)
        paths = [path for path in paths_of(whole.type) if path != CORRUPT]
        if not paths:
            continue
        members = rng.sample(paths, rng.randint(1, min(4, len(paths))))
        found = decode(array, schema, message=message.name, for_spark=for_spark, members=members)
        expected = [chosen_of(row, [[CORRUPT], *(path.split(".") for path in members)]) for row in whole.to_pylist()]
        assert repr(found.to_pylist()) == repr(expected), f"seed {seed}, {message.name}: {members}"


def test_of_a_mixed_column_messages_that_are_not_asked_for_have_their_template_alone() -> None:
    array = pa.array([TRADE, BOOK, None, TRADE[:20], BOOK[:20]])
    rows = decode(array, MARKET, members=["Trade.price.mantissa", "Trade.quantity"]).to_pylist()
    assert rows[0] == {"template_id": 1, "Trade": {"price": {"mantissa": 1234500}, "quantity": 10}, CORRUPT: None}
    assert rows[1] == rows[4] == {"template_id": 2, "Trade": None, CORRUPT: None}
    assert rows[2] is None
    assert rows[3] == {"template_id": 1, "Trade": None, CORRUPT: "Trade: block beyond the end: expected 38 bytes, found 12"}


def test_text_that_is_not_asked_for_is_not_checked() -> None:
    array = pa.array([BOOK_OF_NO_TEXT])
    assert decode(array, MARKET, message="Book").to_pylist()[0]["levels"] is None
    assert decode(array, MARKET, message="Book", members=["levels.quantity"]).to_pylist() == [
        {"levels": [{"quantity": 100}], CORRUPT: None}
    ]


def test_what_is_within_a_member_that_is_asked_for_is_there() -> None:
    array = pa.array([BOOK])
    assert decode(array, MARKET, message="Book", members=["levels.side", "levels"]) == decode(
        array, MARKET, message="Book", members=["levels"]
    )


@pytest.mark.parametrize(
    ("message", "members", "reason"),
    [
        ("Trade", ["amount"], "members: Trade has no member 'amount'; expected some of instrument, time, price, quantity, side"),
        ("Trade", ["price.value"], "members: Trade.price has no member 'value'; expected some of mantissa, exponent$"),
        ("Trade", ["quantity.mantissa"], "members: Trade.quantity has no member 'mantissa': it has none"),
        ("Trade", ["conditions.Auction.bit"], "members: Trade.conditions.Auction has no member 'bit': it has none"),
        ("Book", ["levels.price.value"], "members: Book.levels.price has no member 'value'; expected some of mantissa, exponent$"),
        (None, ["quantity"], "has no member 'quantity'; expected some of Trade, Book$"),
        ("Trade", [], "members: expected one at least; leave it out for all"),
        ("Trade", "time", r"members: expected a list of names, found the text 'time': \['time'\]"),
    ],
)
def test_a_wrong_member_says_what_there_is(message: str | None, members: Any, reason: str) -> None:
    with pytest.raises(SbeSchemaError, match=reason):
        decode(pa.array([TRADE]), load_schema(MARKET), message=message, members=members)
