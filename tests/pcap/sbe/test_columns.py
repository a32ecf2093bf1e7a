"""Columns of SBE messages: decoded as the generated data classes decode them one by one, and encoded back to the same bytes."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Iterator
from enum import IntEnum, IntFlag
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pytest

from aerowire.codegen.sbe.ir import Block, Composite, Enum, Field, Member, Message, MessageSchema
from aerowire.codegen.sbe.reader import load_message_schema
from aerowire.pcap import read_frames
from aerowire.pcap.sbe import SbeColumnError, decode, encode
from tests.codegen.sbe.packages import import_package
from tests.codegen.sbe.plain_messages import Writer
from tests.codegen.sbe.random_messages import own_schema, random_message

ROOT = Path(__file__).parents[3]
MARKET = ROOT / "examples" / "schemas" / "market.xml"
VECTORS = ROOT / "conformance" / "aerowire" / "conformance" / "vectors" / "archive_and_cluster.tsv"
CAPTURES = ROOT / "tests" / "data" / "captures-archive-cluster"
OWN = ("garage", "orders", "sensors", "shop", "shown", "trading", "market")
CORRUPT = "_corrupt_record"
# A trade of version 1 of market.xml, and a book with a level and a note.
TRADE = bytes.fromhex("260001002a00010041434d450000000000002a36fe9c971744d61200000000000a0000004201ffffffffffffffff")
BOOK = bytes.fromhex("100002002a00010041434d450000000005000000000000000d000100420a000000000000006400000007006f70656e696e67")
TRADE_VALUES = {
    "instrument": "ACME",
    "time": 1_700_000_000_000_000_000,
    "price": {"mantissa": 1234500, "exponent": -4},
    "quantity": 10,
    "side": "Buy",
    "conditions": {"Auction": True, "OffBook": False},
    "tradeId": None,
}
BOOK_VALUES = {
    "instrument": "ACME",
    "time": 5,
    "levels": [{"side": "Buy", "price": {"mantissa": 10, "exponent": -4}, "quantity": 100}],
    "note": "opening",
}


def schema_of(name: str) -> MessageSchema:
    return load_message_schema(MARKET) if name == "market" else own_schema(name)


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ModuleType]:
    """The data classes of each schema of our own."""
    return {name: import_package(schema_of(name), tmp_path_factory.mktemp(name)) for name in OWN}


def folded(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold()


def agrees(ours: Any, twin: Any) -> bool:
    """Whether a value of a struct is what a data class has: names in their two spellings, members in order."""
    if isinstance(twin, IntEnum):
        return ours == f"UNKNOWN_{int(twin)}" or folded(ours) == folded(twin.name)
    if isinstance(twin, IntFlag):
        known = {folded(str(one.name)): one for one in type(twin)}
        return isinstance(ours, dict) and all(is_set == bool(twin & known[folded(name)]) for name, is_set in ours.items())
    if isinstance(twin, dict):
        return isinstance(ours, dict) and len(ours) == len(twin) and all(map(agrees, ours.values(), twin.values()))
    if isinstance(twin, list | tuple):
        return isinstance(ours, list) and len(ours) == len(twin) and all(map(agrees, ours, twin))
    is_nan = isinstance(twin, float) and math.isnan(twin)
    return ours is None or math.isnan(ours) if is_nan else bool(ours == twin)


def has_no_text(twin: Any) -> bool:
    """Whether a value holds bytes that are no text, which data classes keep as lone surrogates."""
    if isinstance(twin, dict):
        return any(map(has_no_text, twin.values()))
    if isinstance(twin, list | tuple):
        return any(map(has_no_text, twin))
    return isinstance(twin, str) and any("\ud800" <= one <= "\udfff" for one in twin)


def twin_of(package: ModuleType, message: bytes, template_id: int) -> dict[str, Any] | None:
    """What the data class of a template has, or None where the bytes are none of its messages."""
    try:
        found = package.decode(message)
    except package.SbeError:
        return None
    is_it = template_id == getattr(package, f"{type(found).__name__}Decoder").SBE_TEMPLATE_ID
    return dict(found.to_dict()) if is_it else None


def assert_agree(schema: MessageSchema, package: ModuleType, message: Message, octets: list[bytes], where: str) -> int:
    """Compare rows with data classes one by one; return how many are sound."""
    rows = decode(pa.array(octets, pa.binary()), schema, message=message.name).to_pylist()
    sound = 0
    for number, (row, raw) in enumerate(zip(rows, octets, strict=True)):
        reason, twin = row.pop(CORRUPT), twin_of(package, raw, message.id)
        place = f"{where}, {message.name}, row {number}: {raw.hex()}: {reason}"
        if twin is None:
            assert reason is not None, place
            assert set(row.values()) <= {None}, place
        elif has_no_text(twin):
            assert reason is not None, place
            assert "is no text of its encoding" in reason, place
        else:
            assert reason is None, place
            assert agrees(row, twin), f"{place}\n{row}\n{twin}"
            sound += 1
    return sound


@pytest.mark.parametrize("name", OWN)
def test_rows_are_what_data_classes_decode(classes: dict[str, ModuleType], name: str) -> None:
    schema, sound = schema_of(name), 0
    for seed in range(3):
        chance = Random(seed)
        for message in schema.messages:
            messages = [random_message(schema, message, chance, chance.randint(0, schema.version + 1)) for _ in range(60)]
            sound += assert_agree(schema, classes[name], message, messages, f"{name}, seed {seed}")
    assert sound > 60


@pytest.mark.parametrize("name", OWN)
def test_cut_and_changed_messages_are_damaged_where_data_classes_say_so(classes: dict[str, ModuleType], name: str) -> None:
    schema, chance = schema_of(name), Random(4)
    for message in schema.messages:
        whole = Writer(schema, chance).message(message)[0]
        cut = [whole[:length] for length in range(len(whole) + 1)]
        assert_agree(schema, classes[name], message, cut, f"{name}, seed 4, cuts")
        changed = []
        for _ in range(150):
            other = bytearray(whole)
            other[chance.randrange(len(other))] = chance.choice((0, 1, 2, 127, 255))
            changed.append(bytes(other))
        assert_agree(schema, classes[name], message, changed, f"{name}, seed 4, changes")


@pytest.mark.parametrize("for_spark", [False, True])
@pytest.mark.parametrize("name", OWN)
def test_encoded_rows_are_what_data_classes_encode(classes: dict[str, ModuleType], name: str, for_spark: bool) -> None:
    schema, package, chance, compared = schema_of(name), classes[name], Random(5), 0
    for message in schema.messages:
        messages = [Writer(schema, chance).message(message)[0] for _ in range(40)]
        structs = decode(pa.array(messages), schema, message=message.name, for_spark=for_spark)
        made = encode(structs, schema, message=message.name)
        made.validate(full=True)
        again = decode(made, schema, message=message.name, for_spark=for_spark)
        for row, before, after in zip(made.to_pylist(), structs.to_pylist(), again.to_pylist(), strict=True):
            assert (row is None) == (before[CORRUPT] is not None)
            if row is not None:
                assert without_nan(before) == without_nan(after), f"{name}, seed 5, {message.name}"
                assert package.decode(row).encode() == row
                compared += 1
    assert compared > 20


def without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nan(one) for name, one in value.items()}
    if isinstance(value, list):
        return [without_nan(one) for one in value]
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.parametrize("name", OWN)
def test_messages_of_older_versions_are_encoded_as_such(name: str) -> None:
    schema, chance = schema_of(name), Random(6)
    for version in range(schema.version + 1):
        for message in schema.messages:
            messages = [Writer(schema, chance, longer_by=0).message(message, version)[0] for _ in range(20)]
            structs = decode(pa.array(messages), schema, message=message.name)
            made = encode(structs, schema, message=message.name, version=version)
            sound = made.filter(made.is_valid())
            again = decode(sound, schema, message=message.name, mode="FAILFAST").to_pylist()
            before = [{key: one for key, one in row.items() if key != CORRUPT} for row in structs.to_pylist() if row[CORRUPT] is None]
            assert without_nan(again) == without_nan(before), f"{name}, seed 6, {message.name}, version {version}"


def vectors() -> Iterator[tuple[str, str, dict[str, Any], bytes]]:
    for line in VECTORS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            struct, values, octets = line.split("\t")
            schema, _, message = struct.partition(".")
            yield schema, message, json.loads(values), bytes.fromhex(octets)


def told(block: Block, values: dict[str, Any], version: int) -> dict[str, Any]:
    """What a struct must hold of a vector, whose enums are numbers, whose bytes are hexadecimal, and which has nothing that is newer."""
    row: dict[str, Any] = {one.name: None if one.since_version > version else _told(one, values[one.name]) for one in block.fields}
    row |= {group.name: [told(group, entry, version) for entry in values[group.name]] for group in block.groups}
    for one in block.data:
        value = values[one.name]
        row[one.name] = bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
    return row


def _told(one: Field | Member, value: Any) -> Any:
    if isinstance(one.type, Enum) and value is not None:
        names = {known.value: known.name for known in one.type.values}
        return names.get(value, "NULL_VALUE" if value == one.type.null else f"UNKNOWN_{value}")
    if isinstance(one.type, Composite):
        return {member.name: _told(member, value[member.name]) for member in one.type.members}
    return value


def test_each_vector_of_archive_and_cluster_is_decoded_and_encoded_back() -> None:
    trees: dict[str, MessageSchema] = {}
    seen: dict[str, set[str]] = {}
    for schema, name, values, octets in vectors():
        tree = trees.setdefault(schema, load_message_schema(ROOT / "spec" / f"{schema}.xml"))
        message = next(one for one in tree.messages if one.name == name)
        structs = decode(pa.array([octets]), schema, message=name, mode="FAILFAST")
        version = int.from_bytes(octets[6:8], "little")
        assert structs.to_pylist() == [told(message, values, version)], name
        assert encode(structs, schema, message=name, version=version).to_pylist() == [octets], name
        seen.setdefault(schema, set()).add(name)
    assert {name: len(trees[name].messages) for name in seen} == {name: len(found) for name, found in seen.items()}
    assert {"archive", "cluster"} <= set(seen)


@pytest.mark.parametrize("name", ["archive_control", "archive_response_channel", "cluster_election_session", "cluster_catchup"])
def test_payloads_of_captures_are_of_the_kinds_that_another_parser_found(name: str) -> None:
    index = json.loads((CAPTURES / "index.json").read_text())[f"{name}.pcap.gz"]
    frames = read_frames(CAPTURES / f"{name}.pcap.gz", payload=True)
    begins = pc.and_(pc.equal(frames["type"], "DATA"), pc.not_equal(pc.bit_wise_and(frames["flags"], 0x80), 0))
    frames = frames.filter(pc.and_(begins, pc.greater(frames["frame_length"], 32)))
    place = ["session_id", "stream_id", "term_id", "term_offset", "dst_port"]
    frames = pa.Table.from_pylist(list({tuple(row[key] for key in place): row for row in frames.to_pylist()}.values()), frames.schema)
    for schema, schema_id in (("archive", 101), ("cluster", 111)):
        found = pc.value_counts(pc.drop_null(pc.struct_field(decode(frames["payload"], schema), "template_id"))).to_pylist()
        told = {int(key.split()[0].split(":")[1]): count for key, count in index.items() if key.startswith(f"{schema_id}:")}
        assert {one["values"]: one["counts"] for one in found} == told, schema


@pytest.mark.parametrize("schema", ["archive", "cluster"])
def test_a_column_of_all_messages_has_a_member_for_each(schema: str) -> None:
    those = [(name, octets) for of, name, _, octets in vectors() if of == schema]
    version = int.from_bytes(those[0][1][6:8], "little")
    structs = decode(pa.array([octets for _, octets in those]), schema, mode="FAILFAST")
    structs.validate(full=True)
    for row, (name, octets) in zip(structs.to_pylist(), those, strict=True):
        assert row.pop("template_id") == int.from_bytes(octets[2:4], "little")
        assert [other for other, value in row.items() if value is not None] == [name]
    assert encode(structs, schema, version=version).to_pylist() == [octets for _, octets in those]


def test_a_message_of_the_schema_is_a_struct_of_its_members() -> None:
    assert decode(pa.array([TRADE, None]), MARKET, message="Trade").to_pylist() == [{**TRADE_VALUES, CORRUPT: None}, None]
    assert decode(pa.array([BOOK]), str(MARKET), message="Book", mode="FAILFAST").to_pylist() == [BOOK_VALUES]


def test_what_is_unknown_or_damaged_in_a_mixed_column_is_null_with_its_template_or_reason() -> None:
    unknown, other = BOOK[:2] + b"\x09" + BOOK[3:], TRADE[:4] + b"\x07" + TRADE[5:]
    rows = decode(pa.array([TRADE, BOOK, None, unknown, other, TRADE[:20], b"", BOOK[:-1] + b"\xff"]), MARKET).to_pylist()
    assert rows[0] == {"template_id": 1, "Trade": TRADE_VALUES, "Book": None, CORRUPT: None}
    assert rows[1] == {"template_id": 2, "Trade": None, "Book": BOOK_VALUES, CORRUPT: None}
    assert rows[2] is None
    assert rows[3] == {"template_id": 9, "Trade": None, "Book": None, CORRUPT: None}
    assert [(row["template_id"], row["Trade"], row["Book"], row[CORRUPT]) for row in rows[4:]] == [
        (None, None, None, "header: schema id: expected 42, found 7"),
        (1, None, None, "Trade: block beyond the end: expected 38 bytes, found 12"),
        (None, None, None, "header: header beyond the end: expected 8 bytes, found 0"),
        (2, None, None, "Book.note: is no text of its encoding: expected UTF-8, found b'openin\\xff'"),
    ]


def test_failfast_names_the_first_damaged_row_of_all_chunks() -> None:
    chunks = pa.chunked_array([[TRADE, TRADE], [TRADE, TRADE[:-1], BOOK]])
    with pytest.raises(SbeColumnError, match=r"row 3: Trade: block beyond the end: expected 38 bytes, found 37") as raised:
        decode(chunks, MARKET, message="Trade", mode="FAILFAST")
    assert raised.value.row == 3
    assert pickle.loads(pickle.dumps(raised.value)).reason == raised.value.reason
    rows = decode(chunks, MARKET, message="Trade", corrupt_record="")
    assert [one is None for one in rows.to_pylist()] == [False, False, False, True, True]
    assert rows.num_chunks == 2


def test_a_longer_block_is_skipped_and_an_older_one_has_nulls() -> None:
    longer = b"\x2a\0" + TRADE[2:] + b"more"
    older = b"\x1e\0" + TRADE[2:6] + b"\0\0" + TRADE[8:38]
    newest = decode(pa.array([longer, older, TRADE + b"behind it"]), MARKET, message="Trade", mode="FAILFAST")
    assert newest.to_pylist() == [TRADE_VALUES] * 3
    numbered = TRADE[:38] + (7).to_bytes(8, "little")
    assert decode(pa.array([numbered]), MARKET, message="Trade").to_pylist()[0]["tradeId"] == 7
    lie = numbered[:6] + b"\0\0" + numbered[8:]
    assert decode(pa.array([lie]), MARKET, message="Trade").to_pylist()[0]["tradeId"] is None
    assert encode(newest.slice(1, 1), MARKET, message="Trade", version=0).to_pylist() == [older]


@pytest.mark.parametrize(
    "array",
    [
        pa.array([b"x", TRADE, BOOK, TRADE], pa.binary()).slice(1),
        pa.array([TRADE, BOOK, TRADE], pa.large_binary()),
        pa.array([TRADE, BOOK, TRADE], pa.binary_view()),
        pa.array([TRADE, BOOK, TRADE]).dictionary_encode(),
    ],
    ids=["slice", "large", "view", "dictionary"],
)
def test_every_kind_of_binary_array_is_read(array: Any) -> None:
    assert decode(array, MARKET).field("template_id").to_pylist() == [1, 2, 1]


def test_columns_without_rows_have_the_type_all_the_same() -> None:
    for empty in (pa.array([], pa.binary()), pa.nulls(3, pa.binary()), pa.nulls(2)):
        assert decode(empty, MARKET).type == decode(pa.array([TRADE]), MARKET).type
        assert decode(empty, MARKET, message="Book").to_pylist() == [None] * len(empty)
        assert encode(decode(empty, MARKET), MARKET).to_pylist() == [None] * len(empty)
    with pytest.raises(TypeError, match="expected binary, found int64"):
        decode(pa.array([1]), MARKET)


def test_many_damaged_rows_among_sound_ones_are_found() -> None:
    chance = np.random.default_rng(7)
    is_bad = chance.random(30_000) < 0.3
    structs = decode(pa.array([BOOK[:-1] if bad else BOOK for bad in is_bad.tolist()]), MARKET, message="Book")
    assert np.array_equal(np.asarray(structs.field(CORRUPT).is_valid()), is_bad)
    assert structs.field("note").drop_null().unique().to_pylist() == ["opening"]


def test_entries_without_bytes_that_are_too_many_together_are_decoded_apart(tmp_path: Path) -> None:
    text = MARKET.read_text()
    first, last = text.index('      <field name="side" id="11"'), text.index("    </group>")
    path = tmp_path / "empty.xml"
    path.write_text(text[:first] + text[last:])
    message = BOOK[:24] + b"\0\0\xff\xff" + BOOK[-9:]
    structs = decode(pa.array([message] * 300), path, message="Book", mode="FAILFAST")
    assert pc.list_value_length(structs.field("levels")).to_pylist() == [65535] * 300


@pytest.mark.parametrize(
    ("message", "changes", "reason"),
    [
        ("Trade", {"quantity": -1}, "Trade.quantity: expected uint32, found -1"),
        ("Trade", {"quantity": None}, "Trade.quantity: expected a value, found null: the field is not optional"),
        ("Trade", {"price": None}, "Trade.price.mantissa: expected a value, found null: the field is not optional"),
        ("Trade", {"side": "buy"}, "Trade.side: expected one of NULL_VALUE, Buy, Sell or UNKNOWN_NUMBER, found 'buy'"),
        ("Trade", {"side": "UNKNOWN_256"}, "Trade.side: expected a number from 0 to 255 behind UNKNOWN_, found 'UNKNOWN_256'"),
        ("Trade", {"instrument": "ACMEACMEA"}, "Trade.instrument: expected at most 8 bytes, found 9: 'ACMEACMEA'"),
        ("Trade", {"instrument": "ACMÉ"}, "Trade.instrument: expected text of US-ASCII, found 'ACMÉ'"),
        ("Book", {"note": "x" * 65536}, "Book.note: expected at most 65535 bytes, found 65536"),
        ("Book", {"levels": [*BOOK_VALUES["levels"], None]}, "Book.levels: expected a struct, found null"),  # type: ignore[misc]
    ],
)
def test_a_value_that_no_message_can_hold_is_named(message: str, changes: dict[str, Any], reason: str) -> None:
    good = {"Trade": TRADE_VALUES, "Book": BOOK_VALUES}[message]
    with pytest.raises(SbeColumnError) as raised:
        encode(pa.array([good, good, {**good, **changes}]), MARKET, message=message)
    assert (raised.value.row, raised.value.reason) == (2, reason)


def test_unknown_values_of_enums_are_written_back_and_members_may_be_missing() -> None:
    strange = TRADE[:36] + b"X" + TRADE[37:]
    assert encode(decode(pa.array([strange]), MARKET, message="Trade"), MARKET, message="Trade").to_pylist() == [strange]
    bare = BOOK[:24] + b"\x0d\0\0\0" + b"\0\0"
    assert encode(pa.array([{"instrument": "ACME", "time": 5}]), MARKET, message="Book").to_pylist() == [bare]
    with pytest.raises(SbeColumnError, match="has no member 'instrumnt'; expected some of"):
        encode(pa.array([{"instrumnt": "ACME", "time": 5}]), MARKET, message="Book")
    with pytest.raises(SbeColumnError, match=r"row 0: .*: expected one message, found Book and another"):
        encode(pa.array([{"Trade": TRADE_VALUES, "Book": BOOK_VALUES}]), MARKET)
