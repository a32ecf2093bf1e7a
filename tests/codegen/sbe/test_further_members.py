"""Headers, dimensions and lengths with more members than SBE asks for: encoders leave them to the user, data classes clear them."""

from __future__ import annotations

import struct
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from aerowire.codegen.sbe.interpreter import JsonCodec
from aerowire.codegen.sbe.reader import load_message_schema
from tests.codegen.sbe.packages import Both, import_native

# Members in front of, between and behind those that are asked for; the header's stand in another order than usual.
SCHEMA = """<?xml version="1.0" encoding="UTF-8"?>
<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" package="more" id="7" version="1">
<types>
<composite name="messageHeader"><type name="magic" primitiveType="uint16"/><type name="version" primitiveType="uint16"/>
<type name="blockLength" primitiveType="uint16"/><type name="flags" primitiveType="uint8"/>
<type name="templateId" primitiveType="uint16"/><type name="schemaId" primitiveType="uint16"/>
<type name="time" primitiveType="uint32"/></composite>
<composite name="groupSizeEncoding"><type name="blockLength" primitiveType="uint16"/><type name="kind" primitiveType="uint8"/>
<type name="numInGroup" primitiveType="uint8"/><type name="numGroups" primitiveType="uint16"/></composite>
<composite name="blob"><type name="length" primitiveType="uint16"/><type name="kind" primitiveType="uint8"/>
<type name="varData" primitiveType="uint8" length="0"/></composite>
</types>
<sbe:message name="Sent" id="3"><field name="x" id="1" type="uint8"/>
<group name="rows" id="2"><field name="y" id="3" type="uint8"/></group><data name="raw" id="4" type="blob"/></sbe:message>
</sbe:messageSchema>"""
LAYOUT = "<HHHBHHI B HBBHB HB2s"
CLEARED = struct.pack(LAYOUT, 0, 1, 1, 0, 3, 7, 0, 5, 1, 0, 1, 0, 6, 2, 0, b"ab")
KEPT = struct.pack(LAYOUT, 0xFFFF, 1, 1, 0xFF, 3, 7, 0xFFFF_FFFF, 5, 1, 0xFF, 1, 0xFFFF, 6, 2, 0xFF, b"ab")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return import_native(SCHEMA, tmp_path_factory.mktemp("more"))


@pytest.fixture(params=["python", "native"])
def codecs(request: pytest.FixtureRequest, both: Both) -> ModuleType:
    return both[request.param == "native"]


def test_an_encoder_leaves_further_members_as_they_are(codecs: ModuleType) -> None:
    for filling, expected in ((b"\xff", KEPT), (b"\0", CLEARED)):
        buffer = bytearray(filling * len(expected))
        encoder = codecs.SentEncoder().wrap_and_apply_header(buffer)
        encoder.x = 5
        encoder.rows(1).next().y = 6
        encoder.raw = b"ab"
        assert bytes(buffer) == expected


def test_the_header_has_an_encoder_for_its_further_members(codecs: ModuleType) -> None:
    buffer = bytearray(64)
    encoder = codecs.SentEncoder().wrap_and_apply_header(buffer)
    header = codecs.MessageHeaderEncoder().wrap(buffer)
    header.magic, header.flags, header.time = 0xABCD, 3, 77
    assert (encoder.sbe_offset, bytes(buffer[:15])) == (15, struct.pack("<HHHBHHI", 0xABCD, 1, 1, 3, 3, 7, 77))
    found = codecs.MessageHeaderDecoder().wrap(buffer)
    assert (found.magic, found.flags, found.time, found.template_id) == (0xABCD, 3, 77, 3)


def test_data_classes_clear_further_members_and_read_over_them(codecs: ModuleType) -> None:
    record = codecs.Sent.decode(KEPT)
    assert record == codecs.Sent(x=5, rows=[codecs.SentRows(y=6)], raw=b"ab")
    assert record.encode() == CLEARED
    assert set(record.to_dict()) == {"x", "rows", "raw"}


CONSTANT = SCHEMA.replace(
    '<type name="schemaId" primitiveType="uint16"/>', '<type name="schemaId" primitiveType="uint16" presence="constant">9</type>'
)
TOLD = struct.pack("<HHHBHI B HBBH HB", 0, 1, 1, 0, 3, 0, 5, 1, 0, 0, 0, 0, 0)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """Codecs of a schema of id 7 whose headers have the constant 9, and take no bytes for it."""
    return import_native(CONSTANT, tmp_path_factory.mktemp("told"), "flyweights,native,dtypes,scapy,wireshark")


@pytest.mark.parametrize("which", [0, 1])
def test_a_constant_schema_id_is_any_schema_s(told: Both, which: int) -> None:
    codecs = told[which]
    record = codecs.Sent(x=5)
    assert record.encode() == TOLD
    assert [codecs.decode(TOLD), codecs.Sent.decode(TOLD)] == [record, record]
    assert codecs.SentDecoder().wrap_and_apply_header(TOLD).x == codecs.decoder_of(TOLD).x == 5
    assert codecs.SentDecoder.SBE_SCHEMA_ID == 7


def test_the_other_readers_take_it_too(told: Both, tmp_path: Path) -> None:
    name = told[0].__name__
    layers, dtypes = import_module(f"{name}.scapy"), import_module(f"{name}.dtypes")
    assert layers.dissect(TOLD + TOLD).layers() == [layers.MessageHeader, layers.Sent] * 2
    assert layers.dissect(TOLD)[layers.Sent].x == 5
    assert list(dtypes.SCHEMA.decode(TOLD)["Sent"]["x"]) == [5]
    (tmp_path / "told.xml").write_text(CONSTANT)
    codec = JsonCodec(load_message_schema(tmp_path / "told.xml"))
    assert codec.encode(codec.decode(TOLD)[0]) == TOLD


def test_json_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "more.xml").write_text(SCHEMA)
    codec = JsonCodec(load_message_schema(tmp_path / "more.xml"))
    values, _ = codec.decode(KEPT)
    assert codec.encode(values) == KEPT
