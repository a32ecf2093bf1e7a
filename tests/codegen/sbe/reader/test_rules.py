"""Every rule of message schemas: a small schema that breaks it, and the lines that say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.codegen.sbe.reader import read_message_schema
from tests.codegen.sbe.writing import schema

UINT8 = '<type name="U" primitiveType="uint8"/>'
ENUM = '<enum name="E" encodingType="uint8"><validValue name="A">1</validValue></enum>'


def after(more: str) -> str:
    return f" {more}" if more else ""


def composite(name: str, *members: str) -> str:
    return f'<composite name="{name}">{"".join(members)}</composite>'


def type_(name: str, primitive: str, more: str = "", text: str = "") -> str:
    return f'<type name="{name}" primitiveType="{primitive}"{after(more)}' + (f">{text}</type>" if text else "/>")


def message(body: str = "", more: str = 'id="1"') -> str:
    return f'<message name="M" {more}>{body}</message>'


def field(type_name: str, more: str = "", n: str = "f", i: int = 1) -> str:
    return f'<field name="{n}" id="{i}" type="{type_name}"{after(more)}/>'


def group(dimension: str, body: str = "") -> str:
    return f'<group name="g" id="9" dimensionType="{dimension}">{body}</group>'


def data(type_name: str, more: str = "") -> str:
    return f'<data name="d" id="8" type="{type_name}"{after(more)}/>'


MESSAGE = message()

CASES = (
    ('<type primitiveType="int8"/>', MESSAGE, "", ["14:1: error: type lacks attribute 'name' (missing-attribute)"]),
    ('<type name="" primitiveType="int8"/>', MESSAGE, "", ["14:7: error: type has an empty attribute 'name' (missing-attribute)"]),
    (
        type_("T", "int9"),
        MESSAGE,
        "",
        ["14:16: error: primitiveType 'int9' of type 'T' is no primitive; did you mean \"int8\"? (unknown-primitive)"],
    ),
    (
        type_("T", "int8", 'presence="maybe"'),
        MESSAGE,
        "",
        ["14:37: error: presence 'maybe' of type 'T'; expected required, optional, constant (unknown-presence)"],
    ),
    (type_("T", "int8", 'length="two"'), MESSAGE, "", ["14:37: error: length of type 'T': 'two' is no number (bad-number)"]),
    (
        type_("T", "int8", 'length="99999999999"'),
        MESSAGE,
        "",
        ["14:37: error: length of type 'T': 99999999999 is out of the range of int32 (bad-number)"],
    ),
    (
        type_("T", "int8", 'length="-1"'),
        MESSAGE,
        "",
        ["14:37: error: type 'T' has length -1; expected at least 0, and at most 16777216 bytes (bad-length)"],
    ),
    (
        type_("T", "int8", 'minValue="200"'),
        MESSAGE,
        "",
        ["14:37: error: minValue of type 'T': 200 is out of the range of int8 (bad-number)"],
    ),
    (
        type_("T", "char", 'nullValue="AB"'),
        MESSAGE,
        "",
        [
            "14:37: warning: type 'T' has a nullValue, but its presence is not optional (null-without-optional)",
            "14:37: error: nullValue of type 'T': 'AB' is not one character (bad-number)",
        ],
    ),
    (type_("T", "float", 'maxValue="1,5"'), MESSAGE, "", ["14:38: error: maxValue of type 'T': '1,5' is no number (bad-number)"]),
    (
        type_("T", "int8", 'nullValue="1"'),
        MESSAGE,
        "",
        ["14:37: warning: type 'T' has a nullValue, but its presence is not optional (null-without-optional)"],
    ),
    (UINT8 + type_("U", "int8"), MESSAGE, "", ["14:45: warning: type 'U' is there already; this one replaces it (duplicate-type)"]),
    (
        type_("T", "int8", 'presence="constant"'),
        MESSAGE,
        "",
        ["14:1: error: type 'T' is constant, but has no data (constant-without-data)"],
    ),
    (
        type_("T", "int8", 'presence="constant"', " "),
        MESSAGE,
        "",
        ["14:1: error: type 'T' is constant, but has no data (constant-without-data)"],
    ),
    (
        type_("T", "char", 'presence="constant" length="2"', "ABC"),
        MESSAGE,
        "",
        ["14:1: error: type 'T' has 3 characters, more than its length of 2 (constant-too-long)"],
    ),
    (
        type_("T", "char", 'presence="constant" characterEncoding="nope"', "ABC"),
        MESSAGE,
        "",
        ["14:57: error: characterEncoding 'nope' of type 'T' is unknown (unknown-character-encoding)"],
    ),
    (
        ENUM + type_("T", "uint8", 'valueRef="EA" presence="constant"'),
        MESSAGE,
        "",
        ["14:116: error: valueRef 'EA' is not of the form EnumName.ValueName (bad-value-ref)"],
    ),
    (
        ENUM + type_("T", "uint8", 'valueRef="E.A"'),
        MESSAGE,
        "",
        ["14:116: error: type 'T' has a valueRef, but its presence is not constant (value-ref-without-constant)"],
    ),
    (
        ENUM + type_("T", "uint8", 'valueRef="F.A" presence="constant"'),
        MESSAGE,
        "",
        ["14:116: error: valueRef to unknown enum 'F' (unknown-enum)"],
    ),
    (
        ENUM + type_("T", "int8", 'valueRef="E.A" presence="constant"'),
        MESSAGE,
        "",
        ["14:115: error: valueRef to enum 'E' of uint8, but type 'T' is int8 (value-ref-mismatch)"],
    ),
    (
        ENUM + type_("T", "uint8", 'valueRef="E.B" presence="constant"'),
        MESSAGE,
        "",
        ["14:116: error: enum 'E' has no value 'B' (unknown-value)"],
    ),
    (composite("C", '<ref name="a" type="Nope"/>'), MESSAGE, "", ["14:35: error: ref to unknown type 'Nope' (unknown-type)"]),
    (composite("C", '<ref name="a" type="C"/>'), MESSAGE, "", ["14:35: error: circular reference: C -> C (circular-reference)"]),
    (
        composite("C", type_("a", "int8"), type_("a", "int8")),
        MESSAGE,
        "",
        ["14:64: error: composite 'C' already has a member 'a' (duplicate-member)"],
    ),
    (
        composite("C", '<group name="a"/>'),
        MESSAGE,
        "",
        ["14:21: error: group 'a' within a composite, which has fixed fields only (misplaced-member)"],
    ),
    (
        composite("C", '<data name="a"/>'),
        MESSAGE,
        "",
        ["14:21: error: data 'a' within a composite, which has fixed fields only (misplaced-member)"],
    ),
    (
        composite("C", type_("a", "int32"), type_("b", "int8", 'offset="3"')),
        MESSAGE,
        "",
        ["14:95: error: composite 'C': member 'b' has offset 3, but what precedes it takes 4 bytes (bad-offset)"],
    ),
    (
        composite("C", '<ref name="a" type="D"/>') + composite("D", '<ref name="b" type="C"/>'),
        MESSAGE,
        "",
        [
            "14:35: error: circular reference: D -> C -> D (circular-reference)",
            "14:91: error: circular reference: C -> D -> C (circular-reference)",
        ],
    ),
    (
        '<enum name="E" encodingType="int64"/>',
        MESSAGE,
        "",
        [
            (
                "14:16: error: encodingType 'int64' of enum 'E' is neither a type nor one of char, uint8, int8, "
                'int16, uint16, int32; did you mean "int16"? (bad-encoding-type)'
            )
        ],
    ),
    (
        type_("T", "int8", 'length="2"') + '<enum name="E" encodingType="T"/>',
        MESSAGE,
        "",
        ["14:64: error: encodingType 'T' of enum 'E' has length 2; expected 1 (bad-encoding-type)"],
    ),
    (
        type_("T", "float") + '<enum name="E" encodingType="T"/>',
        MESSAGE,
        "",
        ["14:54: error: encodingType 'T' of enum 'E' is float; expected an integer or char (bad-encoding-type)"],
    ),
    (
        '<enum name="E" encodingType="uint8"><validValue name="A"/></enum>',
        MESSAGE,
        "",
        ["14:37: error: validValue 'A' has no data (value-without-data)"],
    ),
    (
        '<enum name="E" encodingType="uint8"><validValue name="A">x</validValue></enum>',
        MESSAGE,
        "",
        ["14:37: error: value of validValue 'A': 'x' is no number (bad-number)"],
    ),
    (
        '<enum name="E" encodingType="uint8"><validValue name="A">1</validValue><validValue name="B">1</validValue></enum>',
        MESSAGE,
        "",
        ["14:72: warning: enum 'E': value 'B' has the number 1 of an earlier one (duplicate-value)"],
    ),
    (
        '<enum name="E" encodingType="uint8"><validValue name="A">1</validValue><validValue name="A">2</validValue></enum>',
        MESSAGE,
        "",
        ["14:84: warning: enum 'E': value 'A' is there already (duplicate-value)"],
    ),
    (
        '<enum name="E" encodingType="uint8"><validValue name="A">255</validValue></enum>',
        MESSAGE,
        "",
        ["14:37: error: enum 'E': value 'A' is 255, which is the null value (value-is-null)"],
    ),
    (
        '<enum name="E" encodingType="uint8" nullValue="7"><validValue name="A">7</validValue></enum>',
        MESSAGE,
        "",
        ["14:51: error: enum 'E': value 'A' is 7, which is the null value (value-is-null)"],
    ),
    (
        '<enum name="E" encodingType="uint8"><validValue name="A">256</validValue></enum>',
        MESSAGE,
        "",
        ["14:37: error: enum 'E': value 'A' is 256, outside of 0 to 254 (value-out-of-range)"],
    ),
    (
        type_("T", "int16", 'minValue="1" maxValue="5"') + '<enum name="E" encodingType="T"><validValue name="A">6</validValue></enum>',
        MESSAGE,
        "",
        ["14:97: error: enum 'E': value 'A' is 6, outside of 1 to 5 (value-out-of-range)"],
    ),
    (
        '<set name="S" encodingType="int8"/>',
        MESSAGE,
        "",
        [
            (
                "14:15: error: encodingType 'int8' of set 'S' is neither a type of length 1 nor one of uint8, "
                'uint16, uint32, uint64; did you mean "uint8"? (bad-encoding-type)'
            )
        ],
    ),
    (
        '<set name="S" encodingType="uint8"><choice name="A">8</choice></set>',
        MESSAGE,
        "",
        ["14:36: error: choice 'A' is bit 8; a set of uint8 has bits 0 to 7 (choice-out-of-range)"],
    ),
    (
        '<set name="S" encodingType="uint8"><choice name="A">1</choice><choice name="A">1</choice></set>',
        MESSAGE,
        "",
        [
            "14:63: warning: set 'S': choice 'A' has bit 1 of an earlier one (duplicate-choice)",
            "14:71: warning: set 'S': choice 'A' is there already (duplicate-choice)",
        ],
    ),
    (
        '<set name="S" encodingType="uint9"/>',
        MESSAGE,
        "",
        [
            (
                "14:15: error: encodingType 'uint9' of set 'S' is neither a type of length 1 nor one of uint8, "
                'uint16, uint32, uint64; did you mean "uint8"? (bad-encoding-type)'
            )
        ],
    ),
)


def problems_of(path: Path, types: str, messages: str, attributes: str) -> list[str]:
    (path / "own.xml").write_text(schema(types, messages, attributes), encoding="utf-8")
    return [str(problem).removeprefix("own.xml:") for problem in read_message_schema(path / "own.xml", "own.xml").problems]


@pytest.mark.parametrize(("types", "messages", "attributes", "expected"), CASES)
def test_each_broken_rule_is_told_with_its_place(tmp_path: Path, types: str, messages: str, attributes: str, expected: list[str]) -> None:
    assert problems_of(tmp_path, types, messages, attributes) == expected


def test_problems_of_large_types_do_not_take_long(tmp_path: Path) -> None:
    """As many problems as a type has members: to go over them for each one would take minutes."""
    count = 10_000
    values = "".join(f'<validValue name="V{i}">{i}</validValue>' for i in range(count))
    members = "".join(f'<type name="m{i}" primitiveType="uint8"/>' for i in range(count))
    unknown = "".join(f'<enum name="U{i}" encodingType="nope"/>' for i in range(count))
    types = f'<enum name="E" encodingType="uint16">{values}</enum><composite name="Large">{members}</composite>'
    fields = "".join(f'<field name="f{i}" id="{i}" type="E" presence="constant" valueRef="E.none"/>' for i in range(count))
    groups = "".join(f'<group name="g{i}" id="{count + i}" dimensionType="Large"/>' for i in range(count))
    file = tmp_path / "own.xml"
    file.write_text(schema(types, f'<message name="M" id="1">{fields}{groups}</message>'), encoding="utf-8")
    assert len(read_message_schema(file).problems) == 3 * count
    file.write_text(schema(unknown, ""), encoding="utf-8")
    assert len(read_message_schema(file).problems) == count
