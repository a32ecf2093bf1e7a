"""An encoder writes a value whole or not at all, and says what it has no buffer or no room for."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.codegen.sbe.packages import Both, import_native
from tests.codegen.sbe.writing import schema

TYPES = """<composite name="Point"><type name="x" primitiveType="int32"/></composite>
<type name="Row" primitiveType="int16" length="3"/><enum name="Side" encodingType="char"><validValue name="BUY">B</validValue></enum>
<enum name="Kind" encodingType="uint16"><validValue name="ONE">1</validValue></enum>
<composite name="VarData"><type name="length" primitiveType="uint16"/><type name="varData" primitiveType="uint8" length="0"/></composite>
<composite name="Pair"><type name="left" primitiveType="uint8"/><type name="right" primitiveType="uint16"/></composite>"""
SCALARS = {"u8": "uint8", "u64": "uint64", "f32": "float", "letter": "char", "side": "Side", "kind": "Kind", "pair": "Pair", "row": "Row"}
SCALAR_FIELDS = "".join(f'<field name="{name}" id="{number}" type="{kind}"/>' for number, (name, kind) in enumerate(SCALARS.items(), 1))
MESSAGES = f"""<sbe:message name="Scalars" id="2">{SCALAR_FIELDS}
<data name="raw" id="9" type="VarData"/></sbe:message>
<sbe:message name="Shape" id="1"><field name="row" id="3" type="Row"/>
<group name="corners" id="6"><field name="at" id="7" type="Point"/></group></sbe:message>"""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return import_native(schema(TYPES, MESSAGES), tmp_path_factory.mktemp("scalars"))


@pytest.fixture(params=["python", "native"])
def shapes(request: pytest.FixtureRequest, both: Both) -> ModuleType:
    return both[request.param == "native"]


def test_a_refused_value_changes_nothing(shapes: ModuleType) -> None:
    encoder = shapes.ScalarsEncoder().wrap(buffer := bytearray(64))
    encoder.u8, encoder.u64, encoder.f32, encoder.letter, encoder.row = 5, 7, 1.5, "x", (1, 2, 3)
    encoder.side, encoder.kind, encoder.pair = shapes.Side.BUY, shapes.Kind.ONE, shapes.Pair(left=1, right=2)
    kept = bytes(buffer)
    half = shapes.Pair(left=9, right=99_999)
    refused = [
        *[("u8", value) for value in (300, -1, None, "x", 1.5)],
        *[("u64", value) for value in (-1, 1 << 64, None, "x")],
        *[("f32", value) for value in (1e300, None, "x")],
        *[("letter", value) for value in ("€", "ab", "", 5)],
        *[("side", value) for value in ("x", 300, None)],
        *[("kind", value) for value in ("x", 70_000, None)],
        *[("row", value) for value in ((1, 70_000, 3), (1, 2), None, "abc")],
        *[("pair", value) for value in (half, None, 5)],
    ]
    for name, value in refused:
        with pytest.raises(shapes.SbeError, match=rf"^Scalars\.{name}"):
            setattr(encoder, name, value)
        assert bytes(buffer) == kept, (name, value)


def test_an_encoder_without_a_buffer_says_so(shapes: ModuleType) -> None:
    expected = r"nothing is wrapped: expected wrap\(\) or wrap_and_apply_header\(\) .*, found no buffer$"
    for name, value in (("u8", 1), ("u64", 1), ("row", (1, 2, 3)), ("raw", b"x")):
        with pytest.raises(shapes.SbeError, match=rf"^Scalars\.{name}: {expected}"):
            setattr(shapes.ScalarsEncoder(), name, value)
    with pytest.raises(shapes.SbeError, match=rf"^Shape\.corners: {expected}"):
        shapes.ShapeEncoder().corners(2)


def test_text_is_no_value_of_raw_data(shapes: ModuleType) -> None:
    encoder = shapes.ScalarsEncoder().wrap(bytearray(64))
    with pytest.raises(shapes.SbeError, match=r"^Scalars\.raw: the value cannot be written: expected bytes, found 'abc'$"):
        encoder.raw = "abc"


def test_a_list_of_numbers_goes_into_a_dict(shapes: ModuleType) -> None:
    assert shapes.Shape(row=[7, 8, 9]).to_dict()["row"] == [7, 8, 9]


def test_a_negative_offset_is_named(shapes: ModuleType) -> None:
    with pytest.raises(shapes.SbeError, match=r"^Shape: the offset is negative: expected at least 0 and \d+ bytes from there, found -5$"):
        shapes.ShapeDecoder().wrap(bytes(64), -5)


def test_a_group_gives_its_entries_to_next(shapes: ModuleType) -> None:
    corners = shapes.ShapeEncoder().wrap(bytearray(128)).corners(2)
    next(corners).at = shapes.Point(x=1)
    next(corners).at = shapes.Point(x=2)
    with pytest.raises(StopIteration):
        next(corners)
    with pytest.raises(shapes.SbeError, match="there are no more entries to write"):
        corners.next()
