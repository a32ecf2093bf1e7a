"""A message schema read into its tree: offsets, versions, constants, references, and what the official tool does not accept."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.codegen.problems import SchemaError
from aerowire.codegen.sbe.ir import ByteOrder, Composite, EncodedType, Enum, FlagSet, MessageSchema, Presence
from aerowire.codegen.sbe.reader import ReadOptions, load_message_schema, read_message_schema
from tests.codegen.sbe.writing import HEADER, schema


def load(path: Path, text: str, options: ReadOptions | None = None) -> MessageSchema:
    file = path / "own.xml"
    file.write_text(text, encoding="utf-8")
    return load_message_schema(file, "own.xml", options or ReadOptions())


def test_reads_every_kind_of_type(tmp_path: Path) -> None:
    own = load(
        tmp_path,
        schema(
            """
            <type name="Price" primitiveType="int64" presence="optional" nullValue="-1" minValue="0" semanticType="Price"/>
            <type name="Venue" primitiveType="char" length="4"/>
            <type name="Scale" primitiveType="int8" presence="constant">
                -3
            </type>
            <type name="Text" primitiveType="char" presence="constant">EUR</type>
            <composite name="Leg" description="one side">
                <ref name="price" type="Price" sinceVersion="1"/>
                <type name="size" primitiveType="uint16" offset="12"/>
                <enum name="side" encodingType="char"><validValue name="Buy">B</validValue></enum>
                <composite name="inner"><type name="one" primitiveType="float"/></composite>
            </composite>
            <enum name="State" encodingType="uint8">
                <validValue name="Open">0</validValue><validValue name="Shut" sinceVersion="1">1</validValue>
            </enum>
            <set name="Flags" encodingType="uint16"><choice name="First">0</choice><choice name="Last">15</choice></set>
            """,
            '<message name="M" id="1"><field name="leg" id="1" type="Leg"/></message>',
            'version="1"',
        ),
    )
    price, venue, scale, text, leg, state, flags = (own.type(name) for name in ("Price", "Venue", "Scale", "Text", "Leg", "State", "Flags"))
    assert isinstance(price, EncodedType)
    assert (price.null, price.minimum, price.maximum, price.presence) == (-1, 0, 2**63 - 1, Presence.OPTIONAL)
    assert isinstance(venue, EncodedType)
    assert (venue.size, venue.is_text, venue.character_encoding) == (4, True, "US-ASCII")
    assert isinstance(scale, EncodedType)
    assert (scale.constant, scale.size) == (-3, 0)
    assert isinstance(text, EncodedType)
    assert (text.constant, text.length, text.size) == ("EUR", 3, 0)
    assert isinstance(leg, Composite)
    assert [(one.name, one.offset, one.since_version, one.reference) for one in leg.members] == [
        ("price", 0, 1, "Price"),
        ("size", 12, 0, ""),
        ("side", 14, 0, ""),
        ("inner", 15, 0, ""),
    ]
    assert leg.size == 19
    assert isinstance(state, Enum)
    assert [(one.name, one.value, one.since_version) for one in state.values] == [("Open", 0, 0), ("Shut", 1, 1)]
    assert state.null == 255
    assert isinstance(flags, FlagSet)
    assert [(one.name, one.bit) for one in flags.choices] == [("First", 0), ("Last", 15)]


def test_places_fields_groups_and_data(tmp_path: Path) -> None:
    own = load(
        tmp_path,
        schema(
            '<type name="Late" primitiveType="uint8" sinceVersion="2"/>',
            """
            <message name="M" id="7" blockLength="32">
                <field name="a" id="1" type="uint8"/>
                <field name="b" id="2" type="int64" offset="8"/>
                <field name="c" id="3" type="Late" sinceVersion="1"/>
                <group name="g" id="4" blockLength="6">
                    <field name="d" id="5" type="uint32"/>
                    <group name="h" id="6"><field name="e" id="7" type="uint16"/><data name="f" id="8" type="varString"/></group>
                </group>
                <data name="i" id="9" type="varString"/>
            </message>
            """,
            'version="2" byteOrder="bigEndian"',
        ),
    )
    message = own.message(7)
    assert message is not None
    assert own.byte_order is ByteOrder.BIG_ENDIAN
    assert [(one.name, one.offset, one.since_version) for one in message.fields] == [("a", 0, 0), ("b", 8, 0), ("c", 16, 2)]
    assert message.block_length == 32
    (outer,) = message.groups
    (inner,) = outer.groups
    assert (outer.block_length, inner.block_length, inner.data[0].name) == (6, 2, "f")
    (data,) = message.data
    assert (data.length_offset, data.data_offset, data.encoding, data.type.size) == (0, 2, "UTF-8", 2)


def test_constant_fields_hold_what_they_refer_to(tmp_path: Path) -> None:
    own = load(
        tmp_path,
        schema(
            """
            <enum name="Kind" encodingType="char"><validValue name="New">N</validValue></enum>
            <type name="One" primitiveType="uint8" presence="constant">1</type>
            <type name="New" primitiveType="char" presence="constant" valueRef="Kind.New"/>
            """,
            """
            <message name="M" id="1">
                <field name="a" id="1" type="Kind" presence="constant" valueRef="Kind.New"/>
                <field name="b" id="2" type="char" presence="constant" valueRef="Kind.New"/>
                <field name="c" id="3" type="One"/>
                <field name="d" id="4" type="New"/>
            </message>
            """,
        ),
    )
    message = own.messages[0]
    assert [(one.constant, one.size) for one in message.fields] == [("New", 0), ("N", 0), (1, 0), ("N", 0)]
    assert message.block_length == 0


@pytest.mark.parametrize(
    "namespace", ["http://fixprotocol.io/2016/sbe", "http://fixprotocol.io/2017/sbe", "http://www.fixprotocol.org/ns/simple/1.0"]
)
def test_reads_schemas_with_a_default_namespace(tmp_path: Path, namespace: str) -> None:
    text = f'<messageSchema xmlns="{namespace}" package="own" id="1">{HEADER}<message name="M" id="1"/></messageSchema>'
    assert [message.name for message in load(tmp_path, text).messages] == ["M"]


def test_includes_files_and_tells_their_places(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "types.xml").write_text(
        '<types xmlns:xi="http://www.w3.org/2001/XInclude">\n<xi:include href="header.xml"/>\n'
        '<enum name="Kind" encodingType="uint8">\n  <validValue name="Bad">255</validValue></enum></types>',
        encoding="utf-8",
    )
    header = HEADER.removeprefix("<types>").partition('<composite name="groupSize')[0]
    (tmp_path / "parts" / "header.xml").write_text(header, encoding="utf-8")
    own = tmp_path / "own.xml"
    own.write_text(
        '<messageSchema package="own" id="1" xmlns:xi="http://www.w3.org/2001/XInclude">'
        '<xi:include href="parts/types.xml"/><message name="M" id="1"/></messageSchema>',
        encoding="utf-8",
    )
    with pytest.raises(SchemaError, match=r"parts/types.xml:4:3: error: enum 'Kind': value 'Bad' is 255, which is the null value"):
        load_message_schema(own)
    reading = read_message_schema(own, options=ReadOptions(lenient=True))
    assert [problem.severity for problem in reading.problems] == ["warning"]
    assert reading.schema is not None
    assert reading.schema.header.size == 8


def test_restricts_to_an_earlier_version(tmp_path: Path) -> None:
    text = schema(
        "",
        """
        <message name="Old" id="1">
            <field name="a" id="1" type="uint32"/>
            <field name="b" id="2" type="uint32" sinceVersion="2"/>
            <group name="g" id="3"><field name="c" id="4" type="uint8"/><field name="d" id="5" type="uint8" sinceVersion="1"/></group>
            <data name="e" id="6" type="varString" sinceVersion="2"/>
        </message>
        <message name="New" id="2" sinceVersion="2"/>
        """,
        'version="2"',
    )
    own = load(tmp_path, text, ReadOptions(since_version=1))
    assert own.version == 1
    (message,) = own.messages
    assert ([field.name for field in message.fields], message.block_length, message.data) == (["a"], 4, ())
    assert message.groups[0].block_length == 2
    assert load(tmp_path, text, ReadOptions(since_version=0)).messages[0].groups[0].block_length == 1
