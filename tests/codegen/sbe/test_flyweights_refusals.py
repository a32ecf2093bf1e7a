"""A data class writes what its fields can hold, and says of everything else which field it was and what was expected."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.codegen.sbe.packages import import_native
from tests.codegen.sbe.writing import schema

TYPES = """<composite name="Point"><type name="x" primitiveType="int32"/></composite>
<type name="Name" primitiveType="char" length="6" characterEncoding="UTF-8"/>
<type name="Wide" primitiveType="char" length="8" characterEncoding="UTF-16LE"/>
<type name="Row" primitiveType="int16" length="3"/><type name="Maybe" primitiveType="int16" length="3" presence="optional"/>"""
MESSAGES = """<sbe:message name="Shape" id="1"><field name="name" id="1" type="Name"/><field name="wide" id="2" type="Wide"/>
<field name="row" id="3" type="Row"/><field name="maybe" id="4" type="Maybe"/><field name="centre" id="5" type="Point"/>
<group name="corners" id="6"><field name="at" id="7" type="Point"/></group></sbe:message>"""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[ModuleType, ModuleType]:
    """The Python package and the compiled module."""
    folder: Path = tmp_path_factory.mktemp("shapes")
    (folder / "shapes.xml").write_text(schema(TYPES, MESSAGES))
    return import_native(folder / "shapes.xml", folder)


@pytest.fixture(params=["python", "native"])
def shapes(request: pytest.FixtureRequest, both: tuple[ModuleType, ModuleType]) -> ModuleType:
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
    found = shapes.Shape.decode(shape(shapes, row=[7, 8, 9], corners=(shapes.ShapeCorners(at=shapes.Point(x=2)),)).encode())
    assert (found.row, found.corners) == ((7, 8, 9), [shapes.ShapeCorners(at=shapes.Point(x=2))])
