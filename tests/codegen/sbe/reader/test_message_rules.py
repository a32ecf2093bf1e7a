"""Broken rules of messages: of their fields, groups, data and headers, each told with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codegen.sbe.reader.test_rules import ENUM, MESSAGE, UINT8, composite, data, field, group, message, problems_of, type_

CASES = (
    ("", "", "", ["2:1: warning: schema has no message (no-messages)"]),
    (
        "",
        message(more='id="1"') + '<message name="N" id="1"/>',
        "",
        ["16:54: error: message 'N' has id 1 of message 'M' (duplicate-message)"],
    ),
    ("", message(more='id="1"') + message(more='id="2"'), "", ["16:45: error: message 'M' is there already (duplicate-message)"]),
    ("", message(more=""), "", ["16:1: error: message 'M' lacks attribute 'id' (missing-attribute)"]),
    ("", message(more='id="x"'), "", ["16:19: error: id of message 'M': 'x' is no number (bad-number)"]),
    ("", message(field("Nope")), "", ["16:49: error: type 'Nope' of field 'f' is unknown (unknown-type)"]),
    ("", message(field("uint46")), "", ["16:49: error: type 'uint46' of field 'f' is unknown; did you mean \"uint64\"? (unknown-type)"]),
    (
        "",
        message(field("int8") + field("int8", n="f", i=2)),
        "",
        ["16:69: error: field 'f' has the name of an earlier one (duplicate-field)"],
    ),
    ("", message(field("int8") + field("int8", n="g", i=1)), "", ["16:78: error: field 'g' has id 1 of an earlier one (duplicate-field)"]),
    (
        "",
        message(data("varString") + field("int8")),
        "",
        ["16:66: error: field 'f' stands after a group or data; fields come first (bad-order)"],
    ),
    (
        "",
        message(data("varString") + group("groupSizeEncoding")),
        "",
        ["16:66: error: group 'g' stands after data; groups come first (bad-order)"],
    ),
    (
        "",
        message(group("groupSizeEncoding") + field("int8")),
        "",
        ["16:91: error: field 'f' stands after a group or data; fields come first (bad-order)"],
    ),
    (
        "",
        message(field("int32") + field("int8", 'offset="3"', n="h", i=2)),
        "",
        ["16:98: error: field 'h' has offset 3, but what precedes it takes 4 bytes (bad-offset)"],
    ),
    (
        "",
        message(field("int32"), 'id="1" blockLength="3"'),
        "",
        ["16:26: error: blockLength of message 'M' is 3, but its fields take 4 bytes (block-too-short)"],
    ),
    (
        "",
        message('<group name="g" id="9" blockLength="1">' + field("int32") + "</group>"),
        "",
        ["16:49: error: blockLength of group 'g' is 1, but its fields take 4 bytes (block-too-short)"],
    ),
    (
        type_("T", "int8", 'semanticType="Qty"'),
        message(field("T", 'semanticType="Price"')),
        "",
        ["16:58: error: field 'f' has semanticType 'Price', but its type has 'Qty' (semantic-type-mismatch)"],
    ),
    (
        ENUM,
        message(field("E", 'presence="constant"')),
        "",
        ["16:26: error: field 'f' is a constant enum without a valueRef (constant-without-value-ref)"],
    ),
    (
        ENUM,
        message(field("E", 'presence="constant" valueRef="EA"')),
        "",
        ["16:78: error: valueRef 'EA' is not of the form EnumName.ValueName (bad-value-ref)"],
    ),
    (
        ENUM,
        message(field("E", 'presence="constant" valueRef="E."')),
        "",
        [
            "16:78: error: valueRef 'E.' is not of the form EnumName.ValueName (bad-value-ref)",
            "16:78: error: enum 'E' has no value '' (unknown-value)",
        ],
    ),
    (
        ENUM,
        message(field("E", 'presence="constant" valueRef="F.A"')),
        "",
        [
            "16:78: error: valueRef to unknown enum 'F' (unknown-enum)",
            "16:78: error: valueRef to 'F', which is no enum (not-an-enum)",
            "16:78: error: valueRef to enum 'F', but field 'f' has enum 'E' (value-ref-mismatch)",
        ],
    ),
    (ENUM, message(field("E", 'presence="constant" valueRef="E.B"')), "", ["16:78: error: enum 'E' has no value 'B' (unknown-value)"]),
    (
        ENUM,
        message(field("int8", 'presence="constant" valueRef="E.A"')),
        "",
        ["16:81: error: valueRef to enum 'E' of uint8, but field 'f' is int8 (value-ref-mismatch)"],
    ),
    (ENUM + UINT8, message(field("E", 'valueRef="U.A"')), "", ["16:58: error: valueRef to 'U', which is no enum (not-an-enum)"]),
    (
        ENUM,
        message(field("varString", 'presence="constant" valueRef="E.A"')),
        "",
        [("16:86: error: field 'f' is a constant with a valueRef, but its type is no enum and no number (value-ref-mismatch)")],
    ),
    (
        "",
        message(field("int8", 'presence="constant"')),
        "",
        ["16:26: error: field 'f' is constant, but its type 'int8' has no constant (constant-without-data)"],
    ),
    (
        "",
        message(field("varString", 'presence="constant"')),
        "",
        ["16:26: error: field 'f' is constant, but its type 'varString' takes bytes (bad-constant)"],
    ),
    (
        "",
        message(field("varString", i=2) + data("varString")),
        "",
        ["16:26: error: field 'f' has a type of variable length; declare it as data (variable-field)"],
    ),
    ("", message(group("Nope")), "", ["16:49: error: dimensionType 'Nope' of group 'g' is unknown (unknown-type)"]),
    (UINT8, message(group("U")), "", ["16:49: error: dimensionType 'U' of group 'g' is no composite (bad-dimension)"]),
    (
        composite("D", type_("blockLength", "int16"), type_("numInGroup", "uint16")),
        message(group("D")),
        "",
        ["16:49: error: composite 'D' of group 'g' has blockLength of int16, which is not unsigned (bad-dimension)"],
    ),
    (
        composite("D", type_("blockLength", "uint16")),
        message(group("D")),
        "",
        ["16:49: error: composite 'D' of group 'g' lacks 'numInGroup' (bad-dimension)"],
    ),
    (
        composite("D", type_("numInGroup", "uint16")),
        message(group("D")),
        "",
        ["16:49: error: composite 'D' of group 'g' lacks 'blockLength' (bad-dimension)"],
    ),
    (
        composite("D", type_("blockLength", "uint32", 'maxValue="99"'), type_("numInGroup", "uint32")),
        message(group("D")),
        "",
        [
            ("16:49: warning: composite 'D' of group 'g' has blockLength of uint32; uint8 or uint16 is usual (unusual-dimension)"),
            ("16:49: warning: composite 'D' of group 'g' has numInGroup of uint32; uint8 or uint16 is usual (unusual-dimension)"),
            (
                "16:49: error: composite 'D' of group 'g' has numInGroup of uint32 without a maxValue; it must be "
                "2147483647 at most (missing-max-value)"
            ),
        ],
    ),
    (
        composite("D", type_("blockLength", "uint16"), type_("numInGroup", "uint32", 'maxValue="2147483648"')),
        message(group("D")),
        "",
        [
            ("16:49: warning: composite 'D' of group 'g' has numInGroup of uint32; uint8 or uint16 is usual (unusual-dimension)"),
            (
                "16:49: error: composite 'D' of group 'g' has numInGroup with maxValue 2147483648; lengths and "
                "counts allow 2147483647 (max-value-too-great)"
            ),
        ],
    ),
    (
        composite("D", type_("blockLength", "uint16"), type_("numInGroup", "int8")),
        message(group("D")),
        "",
        [
            "16:49: warning: composite 'D' of group 'g' has numInGroup of int8, which is not unsigned (unusual-dimension)",
            "16:49: error: composite 'D' of group 'g' has numInGroup of int8 without a minValue (bad-dimension)",
        ],
    ),
    (
        composite("D", type_("blockLength", "uint16"), type_("numInGroup", "int8", 'minValue="-1"')),
        message(group("D")),
        "",
        [
            "16:49: warning: composite 'D' of group 'g' has numInGroup of int8, which is not unsigned (unusual-dimension)",
            ("16:49: error: composite 'D' of group 'g' has numInGroup with minValue -1; it must not be negative (bad-dimension)"),
        ],
    ),
    (
        composite("D", type_("blockLength", "uint16"), type_("numInGroup", "uint8", 'maxValue="255"')),
        message(group("D")),
        "",
        [("16:49: error: composite 'D' of group 'g' has numInGroup with maxValue 255; uint8 allows 254 (max-value-too-great)")],
    ),
    (
        composite("D", type_("blockLength", "uint16"), type_("numInGroup", "uint8", 'minValue="9" maxValue="3"')),
        message(group("D")),
        "",
        ["16:49: error: composite 'D' of group 'g' has numInGroup with minValue 9, above its maximum of 3 (bad-dimension)"],
    ),
    (
        composite("D", composite("blockLength", type_("x", "int8")), type_("numInGroup", "uint8")),
        message(group("D")),
        "",
        ["16:49: error: composite 'D' of group 'g' has 'blockLength', which is no type with a primitiveType (bad-member)"],
    ),
    (
        composite("D", type_("blockLength", "uint16", 'length="2"'), type_("numInGroup", "uint8")),
        message(group("D")),
        "",
        ["16:26: error: composite 'D' of group 'g': blockLength is not one integer (bad-member)"],
    ),
    (UINT8, message(data("U")), "", ["16:48: error: type 'U' of data 'd' is no composite of a length and varData (bad-data)"]),
    ("", message(data("Nope")), "", ["16:48: error: type 'Nope' of data 'd' is unknown (unknown-type)"]),
    (
        composite("D", type_("length", "uint8")),
        message(data("D")),
        "",
        ["16:48: error: composite 'D' of data 'd' lacks 'varData' (bad-data)"],
    ),
    (
        composite("D", type_("varData", "uint8")),
        message(data("D")),
        "",
        ["16:48: error: composite 'D' of data 'd' lacks 'length' (bad-data)"],
    ),
    (
        composite("D", type_("length", "uint32"), type_("varData", "uint8")),
        message(data("D")),
        "",
        [
            (
                "16:48: error: composite 'D' of data 'd' has length of uint32 without a maxValue; it must be "
                "2147483647 at most (missing-max-value)"
            )
        ],
    ),
    (
        composite("D", type_("length", "int8"), type_("varData", "uint8")),
        message(data("D")),
        "",
        ["16:48: error: composite 'D' of data 'd' has length of int8, which is not unsigned (bad-data)"],
    ),
    (
        composite("D", type_("length", "uint64"), type_("varData", "uint8")),
        message(data("D")),
        "",
        ["16:48: warning: composite 'D' of data 'd' has length of uint64; uint8, uint16 or uint32 is usual (unusual-data)"],
    ),
    (
        "",
        message(data("varString", 'presence="optional"')),
        "",
        ["16:65: error: data 'd' is optional; data is always there (optional-data)"],
    ),
    ("", MESSAGE, 'headerType="nope"', ["2:84: error: message header 'nope': there is no such type (no-header)"]),
    (UINT8, MESSAGE, 'headerType="U"', ["2:84: error: message header 'U': it is no composite (no-header)"]),
    (
        composite("H", type_("blockLength", "int16"), type_("templateId", "uint8"), type_("schemaId", "uint16")),
        MESSAGE,
        'headerType="H"',
        [
            "2:84: error: composite 'H' of messageSchema has blockLength of int16, which is not unsigned (bad-header)",
            "2:84: warning: composite 'H' of messageSchema has blockLength of int16; uint16 is usual (unusual-header)",
            "2:84: warning: composite 'H' of messageSchema has templateId of uint8; uint16 is usual (unusual-header)",
            "2:84: error: composite 'H' of messageSchema lacks 'version' (bad-header)",
        ],
    ),
    (
        composite("H", type_("templateId", "uint16"), type_("schemaId", "uint16"), type_("version", "uint16")),
        MESSAGE,
        'headerType="H"',
        [
            "2:84: error: composite 'H' of messageSchema does not tell the length of a block (bad-header)",
            "2:84: error: composite 'H' of messageSchema lacks 'blockLength' (bad-header)",
        ],
    ),
    (
        type_("T", "int8", 'sinceVersion="2"'),
        message(field("T", 'sinceVersion="3"'), 'id="1" sinceVersion="4"'),
        'version="1"',
        [
            "14:37: error: T has sinceVersion 2, but the schema has version 1 (newer-than-schema)",
            "16:26: error: M has sinceVersion 4, but the schema has version 1 (newer-than-schema)",
            "16:75: error: M.f has sinceVersion 3, but the schema has version 1 (newer-than-schema)",
        ],
    ),
    (
        composite("C", type_("a", "int8", 'sinceVersion="1"'))
        + '<enum name="E" encodingType="uint8"><validValue name="A" sinceVersion="1">1</validValue></enum>',
        MESSAGE,
        "",
        [
            "14:57: error: C.a has sinceVersion 1, but the schema has version 0 (newer-than-schema)",
            "14:144: error: E.A has sinceVersion 1, but the schema has version 0 (newer-than-schema)",
        ],
    ),
    (
        "",
        message("", 'id="65536"') + message("", 'id="-1"').replace('"M"', '"N"'),
        'version="70000"',
        [
            "2:84: error: messageSchema has version 70000, but version of 'messageHeader' is uint16, 0 to 65535 (number-too-great)",
            "16:19: error: message 'M' has id 65536, but templateId of 'messageHeader' is uint16, 0 to 65535 (number-too-great)",
            "16:58: error: message 'N' has id -1, but templateId of 'messageHeader' is uint16, 0 to 65535 (number-too-great)",
        ],
    ),
    (
        composite("Small", type_("blockLength", "uint8"), type_("numInGroup", "uint8")) + type_("Text", "char", 'length="256"'),
        message(group("Small", field("Text")), 'id="1" blockLength="65536"'),
        "",
        [
            "16:26: error: message 'M' has blockLength 65536, but blockLength of 'messageHeader' is uint16, 0 to 65535 (number-too-great)",
            "16:46: error: group 'g' has blockLength 256, but blockLength of 'Small' is uint8, 0 to 255 (number-too-great)",
        ],
    ),
    ("", MESSAGE, 'version="x"', ["2:84: error: version of messageSchema: 'x' is no number (bad-number)"]),
)


@pytest.mark.parametrize(("types", "messages", "attributes", "expected"), CASES)
def test_each_broken_rule_of_a_message_is_told_with_its_place(
    tmp_path: Path, types: str, messages: str, attributes: str, expected: list[str]
) -> None:
    assert problems_of(tmp_path, types, messages, attributes) == expected
