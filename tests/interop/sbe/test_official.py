"""The oracle itself: that the official tool answers, so that what other tests compare with it is a comparison."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.interop.sbe.official import Decoded, OfficialError, OfficialTool

pytestmark = pytest.mark.interop

SCHEMA = """<?xml version="1.0" encoding="UTF-8"?>
<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" package="weather" id="7" version="1" byteOrder="littleEndian">
    <types>
        <composite name="messageHeader">
            <type name="blockLength" primitiveType="uint16"/>
            <type name="templateId" primitiveType="uint16"/>
            <type name="schemaId" primitiveType="uint16"/>
            <type name="version" primitiveType="uint16"/>
        </composite>
        <enum name="Sky" encodingType="char">
            <validValue name="CLEAR">c</validValue>
            <validValue name="CLOUDS">o</validValue>
        </enum>
    </types>
    <sbe:message name="Reading" id="3">
        <field name="celsius" id="1" type="int8"/>
        <field name="sky" id="2" type="Sky"/>
    </sbe:message>
</sbe:messageSchema>
"""


def test_accepts_a_valid_schema(official: OfficialTool, tmp_path: Path) -> None:
    verdict = official.read(_written(tmp_path, SCHEMA))
    assert verdict.is_valid
    assert verdict.counts == (0, 0)
    assert verdict.messages == ("Reading",)


def test_names_errors_and_warnings(official: OfficialTool, tmp_path: Path) -> None:
    wrong = SCHEMA.replace('name="CLOUDS"', 'name="CLEAR"').replace('name="sky" id="2"', 'name="celsius" id="2"')
    verdict = official.read(_written(tmp_path, wrong))
    assert not verdict.is_valid
    assert verdict.counts == (1, 1)
    assert "celsius" in verdict.errors[0]
    assert "CLEAR" in verdict.warnings[0]


def test_prints_a_message_as_json(official: OfficialTool, tmp_path: Path) -> None:
    schema = _written(tmp_path, SCHEMA)
    official.read(schema)
    message = bytes.fromhex("0200 0300 0700 0100 fd 6f")
    assert json.loads(official.print_json(schema, message)) == {"celsius": -3, "sky": "CLOUDS"}


def test_encodes_and_decodes_with_generated_codecs(official: OfficialTool, tmp_path: Path) -> None:
    schema = _written(tmp_path, SCHEMA)
    official.read(schema)
    message = bytes.fromhex("0200 0300 0700 0100 fd 6f")
    assert official.encode(schema, "Reading", {"celsius": -3, "sky": ord("o")}) == message
    assert official.decode(schema, message) == Decoded("Reading", {"celsius": -3, "sky": ord("o")}, 10, 10)


def test_writes_an_unknown_value_of_an_enum(official: OfficialTool, tmp_path: Path) -> None:
    schema = _written(tmp_path, SCHEMA)
    official.read(schema)
    message = official.encode(schema, "Reading", {"celsius": 1, "sky": ord("?")})
    assert message[-1:] == b"?"
    assert official.decode(schema, message).values["sky"] == ord("?")


def test_reports_what_it_throws(official: OfficialTool, tmp_path: Path) -> None:
    schema = _written(tmp_path, SCHEMA)
    official.read(schema)
    with pytest.raises(OfficialError, match="schema id"):
        official.print_json(schema, bytes.fromhex("0200 0300 0800 0100 fd 6f"))


def _written(folder: Path, schema: str) -> Path:
    path = folder / "schema.xml"
    path.write_text(schema, encoding="utf-8")
    return path
