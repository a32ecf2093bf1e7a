"""A stream of several messages as columns and record batches: one call, with the order kept, and errors that say what there is."""

from __future__ import annotations

import pickle
import struct
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from aerowire.codegen.main import main

pa = pytest.importorskip("pyarrow")
SCHEMA = Path(__file__).resolve().parents[4] / "examples/schemas/market.xml"


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder = tmp_path_factory.mktemp("mixed")
    with pytest.MonkeyPatch.context() as patch:
        assert main(["generate", str(SCHEMA), "--out", str(folder), "--package", "mixed_market"]) == 0
        patch.syspath_prepend(str(folder))
        for name in ("arrow", "dtypes"):
            import_module(f"mixed_market.{name}")
        return import_module("mixed_market")


@pytest.fixture(scope="module")
def parts(market: ModuleType) -> list[bytes]:
    def trade(quantity: int) -> bytes:
        values = {"instrument": "A", "time": 1, "side": market.Side.BUY, "conditions": market.Conditions(0)}
        made: bytes = market.Trade(price=market.Price(mantissa=1), quantity=quantity, **values).encode()
        return made

    level = market.BookLevels(side=market.Side.SELL, price=market.Price(mantissa=2), quantity=3)
    books = [market.Book(instrument="B", time=2, levels=[level] * count, note="note").encode() for count in (0, 2)]
    return [trade(1), books[0], trade(2), trade(3), books[1]]


def test_mixed_stream_becomes_a_batch_of_each_message(market: ModuleType, parts: list[bytes]) -> None:
    data = b"".join(parts)
    batches = market.arrow.SCHEMA.decode(data)
    assert {name: batch.num_rows for name, batch in batches.items()} == {"Trade": 3, "Book": 2}
    assert batches["Trade"].schema.equals(market.arrow.TRADE_SCHEMA, check_metadata=True)
    assert batches["Book"].to_pylist()[1]["levels"][1]["quantity"] == 3
    assert batches["Trade"].column("quantity").to_pylist() == [1, 2, 3]
    assert list(market.arrow.SCHEMA.decode(parts[0])) == ["Trade"]
    assert market.arrow.SCHEMA.decode(b"") == {}


@pytest.mark.parametrize("for_spark", [False, True])
def test_order_of_a_mixed_stream_can_be_had_again(market: ModuleType, parts: list[bytes], for_spark: bool) -> None:
    data, starts = b"".join(parts), [sum(map(len, parts[:index])) for index in range(5)]
    batches = market.arrow.SCHEMA.decode(data, index_column="#", offset_column="@", for_spark=for_spark)
    rows = sorted((row["#"], row["@"], name) for name, batch in batches.items() for row in batch.to_pylist())
    assert rows == list(zip(range(5), starts, ["Trade", "Book", "Trade", "Trade", "Book"], strict=True))
    assert batches["Book"].schema.names[:2] == ["#", "@"]
    columns = market.dtypes.SCHEMA.decode(data)
    assert {name: of.indices.tolist() for name, of in columns.items()} == {"Trade": [0, 2, 3], "Book": [1, 4]}
    assert columns["Book"].offsets.tolist() == [starts[1], starts[4]]
    backwards = market.arrow.SCHEMA.decode(data, starts[::-1], index_column="#", offset_column="@")["Book"]
    assert backwards.select(["#", "@"]).to_pylist() == [{"#": 0, "@": starts[4]}, {"#": 3, "@": starts[1]}]


def test_name_of_an_added_column_must_be_free(market: ModuleType, parts: list[bytes]) -> None:
    with pytest.raises(ValueError, match=r"Trade: .*no column has, actual 'quantity'"):
        market.arrow.SCHEMA.decode(parts[0], index_column="quantity")
    with pytest.raises(ValueError, match="actual 'one'"):
        market.arrow.MESSAGES["Trade"].decode(parts[0], index_column="one", offset_column="one")


def test_stream_of_one_message_needs_no_offsets(market: ModuleType, parts: list[bytes]) -> None:
    trades, books = parts[0] + parts[2] + parts[3], parts[1] + parts[4] * 2
    for module in (market.dtypes, market.arrow):
        quantities = module.MESSAGES["Trade"].decode(trades)["quantity"]
        assert [int(one) for one in np.asarray(quantities)] == [1, 2, 3]
    assert np.diff(market.dtypes.MESSAGES["Book"].decode(books).groups["levels"].offsets).tolist() == [0, 2, 2]
    assert market.dtypes.MESSAGES["Trade"].decode(b"").count == 0
    for module in (market.dtypes, market.arrow):
        with pytest.raises(market.SbeError, match=rf"message 3 at offset {len(trades)}: header: template id: expected \[1\], found 2"):
            module.MESSAGES["Trade"].decode(trades + books)
    with pytest.raises(ValueError, match="ends: expected offsets too"):
        market.dtypes.MESSAGES["Trade"].decode(trades, ends=[len(trades)])


def test_message_of_another_schema_ends_the_search(market: ModuleType, parts: list[bytes]) -> None:
    other = bytearray(parts[1])
    struct.pack_into("<H", other, 4, 43)
    with pytest.raises(market.SbeError, match="message 1 at offset 46: header: schema id: expected 42, found 43"):
        market.dtypes.SCHEMA.find(parts[0] + other)


def test_errors_are_the_one_of_the_package(market: ModuleType, parts: list[bytes]) -> None:
    assert market.SbeError is market.dtypes.SbeError is market.arrow.SbeError
    assert issubclass(market.arrow.ColumnsError, market.SbeError)
    with pytest.raises(market.SbeError) as caught:
        market.arrow.SCHEMA.decode(b"".join(parts)[:-2])
    error = caught.value
    assert (error.what, error.where, error.expected, error.actual) == ("data beyond the end", "Book.note", "6 bytes", 4)
    assert (error.message, error.offset) == (4, sum(map(len, parts[:4])))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.message, again.offset) == (str(error), 4, error.offset)


@pytest.mark.parametrize("target", ["dtypes", "arrow"])
def test_target_alone_has_the_error_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setenv("AEROWIRE_SBE_PRECEDENCE_CHECKS", "1")
    assert main(["generate", str(SCHEMA), "--out", str(tmp_path), "--package", f"alone_{target}", "--target", target]) == 0
    monkeypatch.syspath_prepend(str(tmp_path))
    module = import_module(f"alone_{target}.{target}")
    assert not (tmp_path / f"alone_{target}" / "support").exists()
    with pytest.raises(module.SbeError, match="header beyond the end: expected 8 bytes, found 2"):
        module.SCHEMA.decode(b"xx")


def test_schemas_of_one_package_share_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other.xml").write_text(SCHEMA.read_text().replace('package="market"', 'package="other"'))
    command = ["generate", str(SCHEMA), str(tmp_path / "other.xml"), "--out", str(tmp_path), "--package", "both_markets"]
    assert main([*command, "--target", "flyweights,dtypes"]) == 0
    monkeypatch.syspath_prepend(str(tmp_path))
    errors = {import_module(f"both_markets.{name}").SbeError for name in ("market", "other", "market.dtypes", "other.dtypes")}
    assert len(errors) == 1


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("note", "Book: 'note' is in .data, not a column"),
        ("levels", "Book: 'levels' is in .groups, not a column"),
        ("typo", "Book has no 'typo', only columns: instrument, time; .groups: levels; .data: note"),
    ],
)
def test_name_that_is_no_column_says_what_there_is(market: ModuleType, parts: list[bytes], name: str, says: str) -> None:
    columns = market.dtypes.MESSAGES["Book"].decode(parts[4])
    for ask in (columns.__getitem__, columns.nulls, columns.masked):
        with pytest.raises(KeyError) as caught:
            ask(name)
        assert caught.value.args == (says,)
    assert name not in columns
    assert columns.get(name) is None


def test_name_of_a_composite_group_or_data_that_is_none(market: ModuleType, parts: list[bytes]) -> None:
    entries = market.dtypes.MESSAGES["Book"].decode(parts[4]).groups["levels"].entries
    with pytest.raises(KeyError, match=r"levels: 'price' is a composite, whose columns are price\.mantissa"):
        entries["price"]
    columns = market.dtypes.MESSAGES["Trade"].decode(parts[0])
    with pytest.raises(KeyError, match="there is no 'levels', only nothing"):
        columns.groups["levels"]


@pytest.mark.parametrize("count", [2, 30])
def test_older_messages_among_others_are_read_as_such(market: ModuleType, parts: list[bytes], count: int) -> None:
    old = struct.pack("<HHHH", 30, 1, 42, 0) + parts[2][8:38]
    columns = market.dtypes.MESSAGES["Trade"].decode(parts[0] * count + old + parts[3])
    assert columns["quantity"].tolist() == [1] * count + [2, 3]
    assert columns.older_than(1).tolist() == [False] * count + [True, False]


@pytest.mark.parametrize(("at", "what"), [(0, "block length of version 1"), (2, "template id"), (4, "schema id"), (6, "")])
def test_header_that_differs_in_one_number_is_seen(market: ModuleType, parts: list[bytes], at: int, what: str) -> None:
    data = bytearray(parts[0] * 40)
    struct.pack_into("<H", data, 35 * 46 + at, 7)
    offsets = [46 * index for index in range(40)]
    if not what:
        assert market.dtypes.MESSAGES["Trade"].decode(data, offsets).versions.tolist() == [1] * 35 + [7] + [1] * 4
        return
    with pytest.raises(market.SbeError, match=rf"message 35 at offset {35 * 46}: Trade: {what}"):
        market.dtypes.MESSAGES["Trade"].decode(data, offsets)
