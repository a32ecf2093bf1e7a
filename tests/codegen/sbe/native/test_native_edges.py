"""Compiled codecs where C could go wrong: a header of any length, and values that are other than they say."""

from __future__ import annotations

import struct
from types import ModuleType
from typing import Any

import pytest

from tests.codegen.sbe.packages import Both, import_native
from tests.codegen.sbe.writing import schema

TYPES = """<type name="Row" primitiveType="float" length="20"/><type name="Code" primitiveType="char" length="6"/>
<type name="Big" primitiveType="char" length="8" characterEncoding="UTF-16BE"/>
<type name="Little" primitiveType="char" length="8" characterEncoding="UTF-16LE"/>
<composite name="Western"><type name="length" primitiveType="uint16"/>
<type name="varData" primitiveType="uint8" length="0" characterEncoding="windows-1252"/></composite>
<composite name="Price"><type name="mantissa" primitiveType="int32"/>
<type name="exponent" primitiveType="int8" sinceVersion="1"/></composite>"""
MESSAGES = """<sbe:message name="Plain" id="1"><field name="row" id="1" type="Row"/><field name="code" id="2" type="Code"/>
<field name="big" id="3" type="Big"/><field name="little" id="4" type="Little"/><data name="note" id="5" type="Western"/></sbe:message>
<sbe:message name="Quote" id="2"><field name="price" id="1" type="Price"/></sbe:message>"""
PADDING = 500_000
VERSION = '<type name="version" primitiveType="uint16"/>'


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """The Python package and the compiled module, of a header that is longer than any short message."""
    padded = schema(TYPES, MESSAGES, 'version="1"').replace(VERSION, f'{VERSION}<type name="pad" primitiveType="char" length="{PADDING}"/>')
    return import_native(padded, tmp_path_factory.mktemp("edges"))


def plain(module: ModuleType, **values: Any) -> Any:
    return module.Plain(**{"row": (1.0,) * 20, "code": "abc", "big": "\u4e2d", "little": "\u0100a", "note": "n", **values})


def written(both: Both, **values: Any) -> tuple[bytes, bytes]:
    python, native = (plain(module, **values).encode() for module in both)
    return python, native


def test_a_long_header_has_room(both: Both) -> None:
    for length in (0, 5000):
        python, native = written(both, note="x" * length)
        assert native == python
        assert len(native) == 8 + PADDING + 80 + 6 + 8 + 8 + 2 + length


@pytest.mark.parametrize("length", [3, 4, 5])
@pytest.mark.parametrize("version", [0, 1])
def test_a_composite_that_grew(both: Both, version: int, length: int) -> None:
    message = struct.pack("<4H", length, 2, 1, version) + bytes(PADDING) + bytes(range(1, 6))
    outcomes = []
    for module in both:
        try:
            outcomes.append(str(module.Quote.decode(message).price))
        except module.SbeError as error:
            outcomes.append(str(error))
    assert outcomes[1] == outcomes[0]
    assert ("Price(" in outcomes[0]) is (length >= 4 + version)


@pytest.mark.parametrize(("big", "little"), [("AB", ""), ("\u4e2d\u0100ab", "\u4e2d\u0100ab"), ("", "CD\u0100")])
def test_wide_characters_of_an_array(both: Both, big: str, little: str) -> None:
    raw, native = written(both, big=big, little=little)
    assert native == raw
    found = both[1].Plain.decode(raw)
    assert (found.big, found.little, found.code) == (big, little, "abc")


def test_a_list_that_changes_while_it_is_written(both: Both) -> None:
    row: list[float] = []

    class Growing(int):
        def __float__(self) -> float:
            row.extend([1.5] * 40_000)
            return 1.0

    row.extend([Growing(1), *[1.0] * 19])
    (expected, _), found = written(both), plain(both[1], row=row).encode()
    assert found == expected
    assert len(row) > 40_000


def test_a_list_that_lies_about_its_length(both: Both) -> None:
    class Lying(list[float]):
        def __len__(self) -> int:
            return 20

    with pytest.raises(both[1].SbeError, match="expected 20 numbers of float"):
        plain(both[1], row=Lying([1.0] * 40_000)).encode()


@pytest.mark.parametrize("name", ["code", "note"])
@pytest.mark.parametrize("encoded", [bytearray(b"xy"), b"xy", "xy", None, 5])
def test_text_that_encodes_itself(both: Both, name: str, encoded: object) -> None:
    class Own(str):
        __slots__ = ()

        def encode(self, *_: object) -> Any:
            return encoded

    outcomes = []
    for module in both:
        try:
            outcomes.append(plain(module, **{name: Own("abc")}).encode())
        except (module.SbeError, TypeError, AttributeError) as error:
            outcomes.append(type(error).__name__)
    assert outcomes[1] == outcomes[0]
