"""Data classes and encoders write what fields can hold, and refuse everything else: they say which field it was and what was expected.

An encoder writes a value whole or not at all.
"""

from __future__ import annotations

import struct
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from aerowire.codegen.sbe.interpreter import MessageCodec, MessageError
from aerowire.codegen.sbe.reader import load_message_schema
from tests.codegen.sbe.packages import Both, import_native
from tests.codegen.sbe.writing import schema

TYPES = """<composite name="Point"><type name="x" primitiveType="int32"/></composite>
<type name="Name" primitiveType="char" length="6" characterEncoding="UTF-8"/>
<type name="Wide" primitiveType="char" length="8" characterEncoding="UTF-16LE"/>
<type name="Row" primitiveType="int16" length="3"/><type name="Maybe" primitiveType="int16" length="3" presence="optional"/>
<type name="Digest" primitiveType="uint8" length="4"/>
<enum name="Side" encodingType="char"><validValue name="BUY">B</validValue></enum>
<enum name="Kind" encodingType="uint16"><validValue name="ONE">1</validValue></enum>
<composite name="Pair"><type name="left" primitiveType="uint8"/><type name="right" primitiveType="uint16"/></composite>
<composite name="blob"><type name="length" primitiveType="uint16"/><type name="varData" primitiveType="uint8" length="0"/></composite>"""
SCALARS = {"u8": "uint8", "u64": "uint64", "f32": "float", "letter": "char", "side": "Side", "kind": "Kind", "pair": "Pair", "row": "Row"}
SCALAR_FIELDS = "".join(f'<field name="{name}" id="{number}" type="{kind}"/>' for number, (name, kind) in enumerate(SCALARS.items(), 1))
MESSAGES = f"""<sbe:message name="Shape" id="1"><field name="name" id="1" type="Name"/><field name="wide" id="2" type="Wide"/>
<field name="row" id="3" type="Row"/><field name="maybe" id="4" type="Maybe"/><field name="centre" id="5" type="Point"/>
<group name="corners" id="6"><field name="at" id="7" type="Point"/></group></sbe:message>
<sbe:message name="Empties" id="2"><group name="first" id="1"/><group name="second" id="2"/></sbe:message>
<sbe:message name="Blob" id="3"><field name="digest" id="1" type="Digest"/><group name="parts" id="2">
<data name="raw" id="3" type="blob"/><data name="text" id="4" type="varString"/></group></sbe:message>
<sbe:message name="Scalars" id="4">{SCALAR_FIELDS}<data name="raw" id="9" type="blob"/></sbe:message>"""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return import_native(schema(TYPES, MESSAGES), tmp_path_factory.mktemp("shapes"))


@pytest.fixture(scope="module")
def codec(tmp_path_factory: pytest.TempPathFactory) -> MessageCodec:
    file: Path = tmp_path_factory.mktemp("codec") / "shapes.xml"
    file.write_text(schema(TYPES, MESSAGES))
    return MessageCodec(load_message_schema(file))


@pytest.fixture(params=["python", "native"])
def shapes(request: pytest.FixtureRequest, both: Both) -> ModuleType:
    return both[request.param == "native"]


def shape(shapes: ModuleType, **values: Any) -> Any:
    plain = {"name": "ab", "wide": "cd", "row": (1, 2, 3), "maybe": (4, 5, 6), "centre": shapes.Point(x=1), "corners": []}
    return shapes.Shape(**{**plain, **values})


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("name", "a\0b", "Shape.name: the value cannot be written: expected text of at most 6 bytes of utf-8 without NUL, found 'a\\x00b'"),
        ("name", "abcdefg", "at most 6 bytes of utf-8 without NUL, found 'abcdefg'"),
        ("wide", "a\0", "Shape.wide: the value cannot be written: expected text of at most 8 bytes of utf-16-le without NUL"),
        ("row", [1, 2, 3, 4], "Shape.row: the value cannot be written: expected 3 numbers of int16, found [1, 2, 3, 4]"),
        ("row", [1, None, 3], "expected 3 numbers of int16, found [1, None, 3]"),
        ("row", [1, [2], 3], "expected 3 numbers of int16, found [1, [2], 3]"),
        ("row", (1, {}, 3), "expected 3 numbers of int16, found (1, {}, 3)"),
        ("row", None, "expected 3 numbers of int16, found None"),
        ("row", {1: 2}, "expected 3 numbers of int16, found {1: 2}"),
        ("row", 5, "expected 3 numbers of int16, found 5"),
        ("row", (1, 2, 40_000), "expected 3 numbers of int16, found (1, 2, 40000)"),
        ("centre", None, "Shape.centre: the value cannot be written: expected a Point, found None"),
        ("centre", 5, "expected a Point, found 5"),
        ("centre", {"x": 1}, "expected a Point, found {'x': 1}"),
        ("centre", [], "expected a Point, found []"),
        ("corners", None, "Shape.corners: the value cannot be written: expected a list of ShapeCorners, found None"),
        ("corners", {1: 2}, "expected a list of ShapeCorners, found {1: 2}"),
        ("corners", [None], "expected a list of ShapeCorners, found [None]"),
        ("corners", [{"at": {"x": 1}}], "expected a list of ShapeCorners, found [{'at': {'x': 1}}]"),
        ("corners", {}, "Shape.corners: the value cannot be written: expected a list of ShapeCorners, found {}"),
        ("corners", "", "expected a list of ShapeCorners, found ''"),
        ("corners", set(), "expected a list of ShapeCorners, found set()"),
        ("corners", [5], "expected a list of ShapeCorners, found [5]"),
    ],
)
def test_says_what_cannot_be_written(shapes: ModuleType, name: str, value: object, told: str) -> None:
    with pytest.raises(shapes.SbeError) as caught:
        shape(shapes, **{name: value}).encode()
    assert told in str(caught.value)


def test_names_the_entry_that_cannot_be_written(shapes: ModuleType) -> None:
    corners = [shapes.ShapeCorners(at=shapes.Point(x=1)), shapes.ShapeCorners(at=None)]
    with pytest.raises(shapes.SbeError, match=r"^Shape\.corners\[1\]\.at: the value cannot be written: expected a Point, found None$"):
        shape(shapes, corners=corners).encode()


@pytest.mark.parametrize("value", [None, 5, {"x": 1}, []])
def test_an_encoder_refuses_what_is_no_composite(shapes: ModuleType, value: object) -> None:
    encoder = shapes.ShapeEncoder().wrap(bytearray(64))
    with pytest.raises(shapes.SbeError, match=r"^Shape\.centre: the value cannot be written: expected a Point, found "):
        encoder.centre = value


def test_none_makes_a_row_of_optional_numbers_null(shapes: ModuleType) -> None:
    assert shapes.Shape.decode(shape(shapes, maybe=None).encode()).maybe == (-32768,) * 3
    encoder = shapes.ShapeEncoder().wrap(bytearray(64))
    encoder.maybe = None
    assert encoder.maybe == (-32768,) * 3


def test_takes_any_sequence_of_numbers_and_entries(shapes: ModuleType) -> None:
    assert shape(shapes, corners=()).encode() == shape(shapes).encode()
    found = shapes.Shape.decode(shape(shapes, row=[7, 8, 9], corners=(shapes.ShapeCorners(at=shapes.Point(x=2)),)).encode())
    assert (found.row, found.corners) == ((7, 8, 9), [shapes.ShapeCorners(at=shapes.Point(x=2))])


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"corners": {}}, "Shape.corners: the value is no group: expected a list of dicts, found {}"),
        ({"corners": ""}, "Shape.corners: the value is no group: expected a list of dicts, found ''"),
        ({"corners": None}, "Shape.corners: the value is no group: expected a list of dicts, found None"),
        ({"corners": [{"at": {"x": 1}}, ""]}, "Shape.corners[1]: the value is no record: expected a dict with at, found ''"),
        ({"corners": [{}]}, "Shape.corners[0]: a member is missing: expected at, found nothing"),
        ({"corners": [{"at": {"x": 1, "y": 2}}]}, "Shape.corners[0].at: there are no such members: expected x, found y"),
        ({"centre": []}, "Shape.centre: the value is no record: expected a dict with x, found []"),
        ({"centre": "x"}, "Shape.centre: the value is no record: expected a dict with x, found 'x'"),
        ({"centre": {}}, "Shape.centre: a member is missing: expected x, found nothing"),
    ],
)
def test_a_dict_of_another_shape_is_refused_with_its_place(shapes: ModuleType, values: dict[str, Any], told: str) -> None:
    right = shape(shapes).to_dict()
    assert shapes.Shape.from_dict(right) == shape(shapes)
    with pytest.raises(shapes.SbeError) as caught:
        shapes.Shape.from_dict({**right, **values})
    assert str(caught.value) == told


@pytest.mark.parametrize("wrong", ["", [], None, 5])
def test_what_is_no_dict_makes_no_record(shapes: ModuleType, wrong: object) -> None:
    with pytest.raises(shapes.SbeError, match=r"^Empties: the value is no record: expected a dict with first, second, found "):
        shapes.Empties.from_dict(wrong)


def test_released_views_are_named_with_their_place(shapes: ModuleType) -> None:
    released = memoryview(b"abcd")
    released.release()
    told = r"^Blob\.parts\[0\]\.{}: the value cannot be written: expected {}, found <released memory at .*released memoryview"
    for values, expected in (({"raw": released}, ("raw", "bytes")), ({"text": released}, ("text", "utf-8"))):
        with pytest.raises(shapes.SbeError, match=told.format(*expected)):
            shapes.Blob(digest=b"1234", parts=[shapes.BlobParts(**values)]).encode()
    with pytest.raises(shapes.SbeError, match=r"^Blob\.digest: the value cannot be written: expected 4 .*, found <released memory at "):
        shapes.Blob(digest=released).encode()
    for action in (shapes.decode, shapes.Blob.decode, shapes.BlobDecoder().wrap, shapes.BlobEncoder().wrap_and_apply_header):
        with pytest.raises(shapes.SbeError, match=r": the buffer is released: expected a buffer in use, found <released memory at "):
            action(released)


def empties(first: int, second: int) -> bytes:
    return struct.pack("<8H", 0, 2, 1, 0, 0, first, 0, second)


def test_all_readers_have_one_limit_of_entries_without_bytes(shapes: ModuleType, codec: MessageCodec) -> None:
    right, wrong = empties(65_530, 5), empties(65_530, 6)
    read = shapes.Empties.decode(right)
    assert (len(read.first), len(read.second)) == (65_530, 5)
    assert shapes.EmptiesDecoder().wrap_and_apply_header(right).sbe_skip() is not None
    assert codec.decode(right).values["second"] == [{}] * 5
    told = "expected at most 65535 in a message"
    for action in (shapes.Empties.decode, lambda data: shapes.EmptiesDecoder().wrap_and_apply_header(data).to_dict()):
        with pytest.raises(shapes.SbeError, match=rf"^Empties\.second: too many entries without bytes: {told}"):
            action(wrong)
    with pytest.raises(MessageError, match=told):
        codec.decode(wrong)


def test_the_interpreter_names_released_views(codec: MessageCodec) -> None:
    released = memoryview(b"abcd")
    released.release()
    with pytest.raises(MessageError, match="the buffer is released"):
        codec.decode(released)
    with pytest.raises(MessageError, match=r"^Blob\.parts\[0\]\.raw: is released"):
        codec.encode("Blob", {"digest": [1, 2, 3, 4], "parts": [{"raw": released, "text": ""}]})


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
    assert shape(shapes, row=[7, 8, 9]).to_dict()["row"] == [7, 8, 9]


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
