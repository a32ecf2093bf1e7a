"""Text of any encoding, and bytes that are none of it: each byte survives JSON, and what can be read is read as Java reads it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from aerowire.codegen.sbe.interpreter import JsonCodec, MessageCodec, MessageError
from aerowire.codegen.sbe.reader import load_message_schema
from tests.codegen.sbe.writing import schema

ENCODINGS = (
    "US-ASCII",
    "UTF-8",
    "ISO-8859-1",
    "ISO_8859_1",
    "windows-1252",
    "Shift_JIS",
    "GBK",
    "UTF-16",
    "UTF-16LE",
    "UTF-32",
    "UTF-7",
    "no-such",
)


@pytest.fixture(params=ENCODINGS)
def encoding(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def codecs(encoding: str, tmp_path: Path) -> tuple[JsonCodec, MessageCodec]:
    types = f"""<type name="Row" primitiveType="char" length="12" characterEncoding="{encoding}"/>
        <composite name="Free"><type name="length" primitiveType="uint8"/>
        <type name="varData" primitiveType="uint8" length="0" characterEncoding="{encoding}"/></composite>"""
    message = '<message name="M" id="1"><field name="row" id="1" type="Row"/><data name="free" id="2" type="Free"/></message>'
    file = tmp_path / "own.xml"
    file.write_text(schema(types, message), encoding="utf-8")
    own = load_message_schema(file)
    return JsonCodec(own), MessageCodec(own)


def message(row: bytes, free: bytes) -> bytes:
    return bytes.fromhex("0c00010001000000") + row.ljust(12, b"\0") + bytes([len(free)]) + free


def test_every_byte_survives_json(codecs: tuple[JsonCodec, MessageCodec]) -> None:
    chance = random.Random(3)
    for length in (*range(12), 12, 12, 12):
        raw = message(chance.randbytes(12), chance.randbytes(length))
        values, _ = codecs[0].decode(raw)
        assert codecs[0].encode(values) == raw
        assert "�" not in str(values) or "row$raw" in values or "free$raw" in values


def test_plain_text_is_what_it_says(codecs: tuple[JsonCodec, MessageCodec], encoding: str) -> None:
    name = {"no-such": "latin-1", "UTF-16": "utf-16-be", "UTF-32": "utf-32-be"}.get(encoding, encoding)
    raw = message("ABC".encode(name), "hey".encode(name))
    values, found = codecs[0].decode(raw)[0], codecs[1].decode(raw).values
    assert values["row"] == found["row"] == "ABC"
    assert found["free"] == ("hey" if encoding != "no-such" else b"hey")
    assert values["free"] == ("hey" if encoding != "no-such" else b"hey".hex())


def test_values_survive_or_are_refused(codecs: tuple[JsonCodec, MessageCodec], encoding: str) -> None:
    chance, kept, refused = random.Random(4), 0, set()
    for _ in range(50):
        raw = message(chance.randbytes(12), chance.randbytes(8))
        try:
            values = codecs[1].decode(raw).values
            again = codecs[1].decode(codecs[1].encode("M", values)).values
        except MessageError as error:
            refused.add(error.what)
            continue
        assert again == values
        kept += 1
    # A mark in front, or escapes, may need more room than the bytes that they stand for.
    assert refused <= {"is no text of its encoding", "is too long"}
    assert kept == 50 or encoding not in ENCODINGS[:4]
