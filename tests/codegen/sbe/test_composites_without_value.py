"""An optional composite is None exactly when all its members are null; so is one with sinceVersion, and both are written as they were."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from aerowire.codegen.sbe.interpreter import JsonCodec, MessageCodec, MessageError
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.reader import load_message_schema
from aerowire.pcap.sbe import decode, encode
from tests.codegen.sbe.conftest import Generate
from tests.codegen.sbe.packages import Both, import_native, import_package
from tests.codegen.sbe.writing import schema

TYPES = """<enum name="Side" encodingType="uint8"><validValue name="BUY">1</validValue></enum>
<set name="Flags" encodingType="uint8"><choice name="last">0</choice></set>
<composite name="Price"><type name="mantissa" primitiveType="int64" presence="optional" nullValue="7"/>
<type name="exponent" primitiveType="int8"/></composite>
<composite name="Mixed"><type name="rate" primitiveType="double"/><type name="text" primitiveType="char" length="4"/>
<type name="letter" primitiveType="char" offset="16"/><ref name="side" type="Side"/><ref name="flags" type="Flags"/>
<type name="row" primitiveType="uint16" length="2"/><ref name="price" type="Price"/><type name="unit" primitiveType="uint8"
presence="constant">3</type><type name="more" primitiveType="float" presence="optional" sinceVersion="1"/></composite>
<composite name="Marks"><ref name="flags" type="Flags"/><type name="text" primitiveType="char" length="2"/></composite>"""
MESSAGES = """<sbe:message name="Quote" id="1">
<field name="price" id="1" type="Price" presence="optional"/><field name="mixed" id="2" type="Mixed" presence="optional"/>
<field name="marks" id="3" type="Marks" presence="optional"/><field name="needed" id="4" type="Price"/>
<field name="later" id="5" type="Price" sinceVersion="2"/><field name="laterMarks" id="6" type="Marks" sinceVersion="2"/>
<group name="legs" id="10"><field name="price" id="11" type="Price" presence="optional"/></group></sbe:message>"""
PRICE = struct.pack("<qb", 7, -128)
MIXED = struct.pack("<d4s4xcBB2Hqbf", math.nan, b"", b"\0", 255, 0, 65535, 65535, 7, -128, math.nan)
MARKS = b"\x01ab"
NEEDED = struct.pack("<qb", 5, 2)


def message(price: bytes = PRICE, mixed: bytes = MIXED, later: bytes = PRICE, leg: bytes = PRICE) -> bytes:
    block = price + mixed + MARKS + NEEDED + later + MARKS
    return struct.pack("<4H", len(block), 1, 1, 2) + block + struct.pack("<2H", len(leg), 1) + leg


NULLS = message()
VALUES: dict[str, Any] = {
    "price": None,
    "mixed": None,
    "marks": {"flags": 1, "text": "ab"},
    "needed": {"mantissa": 5, "exponent": 2},
    "later": None,
    "legs": [{"price": None}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("composites")


@pytest.fixture(scope="module")
def both(folder: Path) -> Both:
    return import_native(schema(TYPES, MESSAGES, 'version="2"'), folder)


@pytest.fixture(scope="module")
def quotes(both: Both, folder: Path) -> MessageSchema:
    assert both
    return load_message_schema(folder / "schema.xml")


@pytest.fixture(scope="module", params=["python", "compiled"])
def package(request: pytest.FixtureRequest, both: Both) -> ModuleType:
    return both[request.param == "compiled"]


def test_data_class_has_none_and_writes_the_nulls_back(package: ModuleType) -> None:
    quote = package.Quote.decode(NULLS)
    assert (quote.price, quote.mixed, quote.later, quote.legs[0].price) == (None, None, None, None)
    assert quote.needed == package.Price(mantissa=5, exponent=2)
    assert quote.encode() == NULLS
    assert package.Quote.from_dict(quote.to_dict()) == quote
    assert package.Quote.decode(quote.encode()) == quote


def test_thorough_way_reads_and_writes_the_same(package: ModuleType) -> None:
    decoder = package.QuoteDecoder().wrap_and_apply_header(NULLS)
    quote = package.Quote.decode(NULLS)
    assert decoder.to_dict() == quote.to_dict()
    assert package.Quote.decode(memoryview(NULLS).cast("b")) == quote  # not the quick way
    buffer = bytearray(b"\xee" * len(NULLS))
    encoder = package.QuoteEncoder().wrap_and_apply_header(buffer)
    encoder.price = encoder.mixed = encoder.later = None
    encoder.marks, encoder.needed, encoder.later_marks = quote.marks, quote.needed, quote.later_marks
    encoder.legs(1).next().price = None
    assert bytes(buffer) == NULLS


def test_decoder_still_gives_the_composite(package: ModuleType) -> None:
    decoder = package.QuoteDecoder().wrap_and_apply_header(NULLS)
    assert (decoder.price.mantissa, decoder.price.exponent) == (None, -128)


@pytest.mark.parametrize("place", [*range(12), *range(16, len(MIXED))])
def test_any_member_with_a_value_keeps_the_composite(package: ModuleType, quotes: MessageSchema, place: int) -> None:
    changed = bytearray(MIXED)
    changed[place] ^= 0x41
    raw = message(mixed=bytes(changed))
    still_nan = 0 <= place < 6 or len(MIXED) - 4 <= place < len(MIXED) - 1
    behind_nul = 8 < place < 12
    found = package.Quote.decode(raw).mixed
    assert (found is None) == (still_nan or behind_nul)
    assert (MessageCodec(quotes).decode(raw).values["mixed"] is None) == (found is None)
    assert (package.QuoteDecoder().wrap_and_apply_header(raw).to_dict()["mixed"] is None) == (found is None)
    if found is not None and not still_nan:
        assert package.Quote.decode(raw).encode() == raw


def test_padding_does_not_matter(package: ModuleType, quotes: MessageSchema) -> None:
    raw = message(mixed=MIXED[:12] + b"pads" + MIXED[16:])
    assert package.Quote.decode(raw).encode() == NULLS
    assert MessageCodec(quotes).decode(raw).values["mixed"] is None


def test_composite_with_a_null_first_member_alone_is_kept(package: ModuleType) -> None:
    raw = message(price=struct.pack("<qb", 7, 1))
    assert package.Quote.decode(raw).price == package.Price(mantissa=None, exponent=1)
    assert package.Quote.decode(raw).encode() == raw


def test_grown_composite_of_an_old_message_is_none_without_its_newer_members(package: ModuleType, quotes: MessageSchema) -> None:
    block = PRICE + MIXED[:-4] + MARKS + NEEDED
    old = struct.pack("<4H", len(block) + 4, 1, 1, 0) + PRICE + MIXED[:-4] + b"\1\2\3\4" + MARKS + NEEDED + struct.pack("<2H", 9, 0)
    quote = package.Quote.decode(old)
    assert (quote.price, quote.mixed, quote.later, quote.later_marks) == (None, None, None, None)
    values = MessageCodec(quotes).decode(old).values
    assert (values["mixed"], values["later"], values["laterMarks"]) == (None, None, None)


def test_composite_without_a_null_value_cannot_be_none(package: ModuleType, quotes: MessageSchema) -> None:
    for name in ("marks", "later_marks"):
        quote = package.Quote.decode(NULLS)
        setattr(quote, name, None)
        with pytest.raises(package.SbeError, match=r"Quote.(marks|laterMarks): the value cannot be written: expected a Marks, found None"):
            quote.encode()
    with pytest.raises(MessageError, match=r"Quote.marks: cannot be null"):
        MessageCodec(quotes).encode("Quote", {**VALUES, "marks": None, "laterMarks": VALUES["marks"]})
    empty = package.Quote.decode(NULLS.replace(MARKS, b"\0\0\0"))
    assert empty.marks == package.Marks(flags=empty.marks.flags, text="")


def test_interpreter_reads_none_and_writes_the_nulls_back(quotes: MessageSchema) -> None:
    codec = MessageCodec(quotes)
    found = codec.decode(NULLS).values
    assert {name: found[name] for name in ("price", "mixed", "later", "legs")} == {
        name: VALUES[name] for name in ("price", "mixed", "later", "legs")
    }
    assert codec.encode("Quote", found) == NULLS


def test_json_form_has_the_members_and_takes_null(quotes: MessageSchema) -> None:
    codec = JsonCodec(quotes)
    whole = codec.decode_whole(NULLS)
    assert whole["price"] == {"mantissa": 7, "exponent": -128}
    assert codec.encode(whole) == NULLS
    assert codec.encode({**whole, "price": None, "mixed": None, "later": None}) == NULLS


def test_record_batches_have_null(quotes: MessageSchema, generate: Generate) -> None:
    raw = message(price=NEEDED, leg=NEEDED)
    table = generate(quotes, "arrow").MESSAGES["Quote"]
    rows = table.decode(NULLS + raw).to_pylist()
    assert [row["price"] for row in rows] == [None, {"mantissa": 5, "exponent": 2}]
    assert [row["mixed"] for row in rows] == [None, None]
    assert [row["later"] for row in rows] == [None, None]
    assert [row["legs"] for row in rows] == [[{"price": None}], [{"price": {"mantissa": 5, "exponent": 2}}]]
    assert rows[0]["needed"] == {"mantissa": 5, "exponent": 2}


def test_null_structs_are_encoded_as_nulls(both: Both, folder: Path) -> None:
    assert both
    file = str(folder / "schema.xml")
    raw = pa.array([NULLS, message(price=NEEDED)])
    assert encode(decode(raw, file, message="Quote"), file, message="Quote").to_pylist() == raw.to_pylist()


def test_types_that_share_a_class_are_asked_alike(tmp_path: Path) -> None:
    types = '<composite name="Price" description="{}"><type name="mantissa" primitiveType="int64"/></composite>'
    outer = f'<composite name="Outer">{types.format("within")}</composite>'
    fields = '<field name="outer" id="1" type="Outer"/><field name="price" id="2" type="Price" presence="optional"/>'
    text = schema(outer + types.format("another"), f'<sbe:message name="Quote" id="1">{fields}</sbe:message>')
    file = tmp_path / "shared.xml"
    file.write_text(text)
    package = import_package(load_message_schema(file), tmp_path)
    raw = bytes.fromhex("1000010001000000") + struct.pack("<2q", 1, -(1 << 63))
    assert package.Quote.decode(raw).price is None
    assert package.QuoteDecoder().wrap_and_apply_header(raw).to_dict() == {"outer": {"price": {"mantissa": 1}}, "price": None}
    assert package.Quote.decode(raw).encode() == raw
