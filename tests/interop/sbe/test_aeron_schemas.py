"""Our schemas of the Archive's and the Cluster's messages against the codecs in the official jar: layouts.

The jar may be of an older version of a schema; it is then compared with ours as it was in that version.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aerowire.codegen.sbe.ir import Block, Composite, Data, EncodedType, Enum, Field, Message, MessageSchema, walk_blocks
from aerowire.codegen.sbe.reader import ReadOptions, load_message_schema
from aerowire.codegen.sources import default_spec
from tests.interop.harness import Java
from tests.interop.sbe.aeron_codecs import PACKAGES, Description, describe_codecs

pytestmark = pytest.mark.interop

# What the jar of 1.51 has and later versions gave up.
GIVEN_UP = {"archive": {"ConnectRequest"}}


@pytest.fixture(scope="module")
def described(java: Java) -> Description:
    return describe_codecs(java)


def version_of(described: Description, name: str) -> int:
    return int(described[PACKAGES[name]]["MessageHeaderDecoder"]["SCHEMA_VERSION"])


def schema_as_of(name: str, version: int) -> MessageSchema:
    return load_message_schema(default_spec() / f"{name}.xml", options=ReadOptions(since_version=version))


def capitalised(name: str) -> str:
    return name[0].upper() + name[1:]


def facts_of_schema(schema: MessageSchema, version: int) -> dict[str, str]:
    return {
        "SCHEMA_ID": str(schema.id),
        "SCHEMA_VERSION": str(version),
        "SEMANTIC_VERSION": schema.semantic_version,
        "BYTE_ORDER": "LITTLE_ENDIAN",
    }


def facts_of_number(name: str, of: EncodedType) -> dict[str, str]:
    return {f"{name}NullValue()": str(of.null), f"{name}MinValue()": str(of.minimum), f"{name}MaxValue()": str(of.maximum)}


def facts_of_field(field: Field) -> dict[str, str]:
    facts = {
        f"{field.name}Id()": str(field.id),
        f"{field.name}SinceVersion()": str(field.since_version),
        f"{field.name}EncodingOffset()": str(field.offset),
        f"{field.name}EncodingLength()": str(field.size),
        f"{field.name}Presence()": str(field.presence),
    }
    return facts | facts_of_number(field.name, field.type) if isinstance(field.type, EncodedType) else facts


def facts_of_data(data: Data) -> dict[str, str]:
    facts = {
        f"{data.name}Id()": str(data.id),
        f"{data.name}SinceVersion()": str(data.since_version),
        f"{data.name}Presence()": "required",
        f"{data.name}HeaderLength()": str(data.data_offset),
    }
    return facts | {f"{data.name}CharacterEncoding()": data.encoding} if data.encoding else facts


def facts_of_block(block: Block) -> dict[str, str]:
    facts: dict[str, str] = {}
    for field in block.fields:
        facts |= facts_of_field(field)
    for group in block.groups:
        facts |= {f"{group.name}DecoderId()": str(group.id), f"{group.name}DecoderSinceVersion()": str(group.since_version)}
    for data in block.data:
        facts |= facts_of_data(data)
    return facts


def facts_of_message(schema: MessageSchema, message: Message, version: int) -> dict[str, dict[str, str]]:
    """What the message's classes, one for each group in it too, should say of themselves."""
    own = {"BLOCK_LENGTH": str(message.block_length), "TEMPLATE_ID": str(message.id)}
    name = f"{capitalised(message.name)}Decoder"
    facts = {name: facts_of_schema(schema, version) | own | facts_of_block(message)}
    for group in message.groups:
        assert not group.groups, "a group in a group has its class within a class"
        header = group.dimension.size
        facts[f"{name}${capitalised(group.name)}Decoder"] = facts_of_block(group) | {
            "HEADER_SIZE": str(header),
            "sbeHeaderSize()": str(header),
            "sbeBlockLength()": str(group.block_length),
            "countMinValue()": str(group.count_type.minimum),
            "countMaxValue()": str(group.count_type.maximum),
        }
    return facts


def facts_of_composite(schema: MessageSchema, of: Composite, version: int) -> dict[str, str]:
    """What a composite's class should say; the official tool says of one with data that its length is -1."""
    facts = facts_of_schema(schema, version)
    facts["ENCODED_LENGTH"] = "-1" if of.has("varData") else str(of.size)
    for member in of.members:
        assert isinstance(member.type, EncodedType)
        size = -1 if member.name == "varData" else member.size
        facts |= {f"{member.name}EncodingOffset()": str(member.offset), f"{member.name}EncodingLength()": str(size)}
        facts |= {f"{member.name}SinceVersion()": "0"} | facts_of_number(member.name, member.type)
    return facts


def enums_of(schema: MessageSchema) -> Iterator[Enum]:
    yield from (one for one in schema.types if isinstance(one, Enum))


@pytest.mark.parametrize("name", PACKAGES)
def test_every_message_is_laid_out_as_in_the_jar(described: Description, name: str) -> None:
    version = version_of(described, name)
    schema = schema_as_of(name, version)
    official = described[PACKAGES[name]]
    assert schema.messages
    for message in schema.messages:
        for of, facts in facts_of_message(schema, message, version).items():
            assert facts == official[of], of
    classes = {f"{capitalised(message.name)}Decoder" for message in schema.messages}
    more = {of.removesuffix("Decoder") for of, facts in official.items() if "TEMPLATE_ID" in facts and of not in classes}
    assert more == GIVEN_UP.get(name, set())


@pytest.mark.parametrize("name", PACKAGES)
def test_header_groups_and_data_have_the_jars_sizes(described: Description, name: str) -> None:
    version = version_of(described, name)
    schema = schema_as_of(name, version)
    official = described[PACKAGES[name]]
    compared = 0
    for of in schema.types:
        if isinstance(of, Composite) and f"{capitalised(of.name)}Decoder" in official:
            assert facts_of_composite(schema, of, version) == official[f"{capitalised(of.name)}Decoder"], of.name
            compared += 1
    assert compared >= 2


@pytest.mark.parametrize("name", PACKAGES)
def test_every_enum_has_the_jars_values(described: Description, name: str) -> None:
    schema = schema_as_of(name, version_of(described, name))
    official = {of: facts for of, facts in described[PACKAGES[name]].items() if not of.endswith("Decoder")}
    ours = {one.name: {value.name: str(value.value) for value in one.values} | {"NULL_VAL": str(one.null)} for one in enums_of(schema)}
    assert ours == official


def test_what_is_newer_than_the_jar_is_known(described: Description) -> None:
    """Nothing but these waits for a newer jar; whoever takes one may shorten the list."""
    newer: dict[str, list[str]] = {}
    for name in PACKAGES:
        version = version_of(described, name)
        schema = load_message_schema(default_spec() / f"{name}.xml")
        parts = [(one.since_version, message.name, one.name) for message in schema.messages for block in walk_blocks(message)
                 for one in (message, *block.fields, *block.groups, *block.data)]  # fmt: skip
        found = sorted({f"{message}.{part} v{since}" for since, message, part in parts if since > version})
        if schema.version != version:
            newer[f"{name} v{version} -> v{schema.version}"] = found
    assert newer == {"archive v13 -> v14": [], "cluster v16 -> v17": ["ServiceTerminationPosition.ackRequired v17"]}
