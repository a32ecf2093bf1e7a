"""Messages of the Archive and the Cluster, between the codecs in the official jar and our schemas: every message, both ways."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aerowire.codegen.load import default_spec
from aerowire.codegen.sbe.interpreter import MessageCodec
from aerowire.codegen.sbe.ir import Block, EncodedType, Enum, Field, Message, MessageSchema, Presence
from aerowire.codegen.sbe.reader import ReadOptions, load_message_schema
from tests.conftest import SEED
from tests.interop.harness import Java
from tests.interop.sbe.aeron_codecs import PACKAGES, describe_codecs, run_steps

pytestmark = pytest.mark.interop

# The node state's header has two members beyond SBE's four; the official encoder of a message leaves them alone.
MORE_OF_HEADER = {"cluster_node_state": {"frameLength": 0, "padding": 0}}
JAVA_NULL = "NULL_VAL"
SAMPLES = ("distinct", "extreme", "null")

Values = dict[str, Any]


@pytest.fixture(scope="module")
def versions(java: Java) -> dict[str, int]:
    """The version of each schema that the jar has."""
    described = describe_codecs(java)
    return {name: int(described[package]["MessageHeaderDecoder"]["SCHEMA_VERSION"]) for name, package in PACKAGES.items()}


@pytest.fixture(params=PACKAGES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def read_schema(name: str, version: int | None = None) -> MessageSchema:
    return load_message_schema(default_spec() / f"{name}.xml", options=ReadOptions(since_version=version))


class Samples:
    """Values of messages: `distinct` ones, the least and greatest with empty texts, or nulls wherever there may be some."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._chance = random.Random(SEED)
        self._count = 0

    def of_block(self, block: Block) -> Values:
        values: Values = {field.name: self._of_field(field) for field in block.fields}
        for group in block.groups:
            values[group.name] = [self.of_block(group) for _ in range({"distinct": 3, "extreme": 0, "null": 1}[self.kind])]
        for data in block.data:
            text = "" if self.kind == "extreme" else f"{data.name} {self._next()}"
            values[data.name] = text if data.encoding else text.encode()
        return values

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _of_field(self, field: Field) -> int | None:
        if self.kind == "null" and field.presence is Presence.OPTIONAL:
            return None
        if isinstance(field.type, Enum):
            values = field.type.values
            return values[0 if self.kind == "extreme" else self._next() % len(values)].value
        assert isinstance(field.type, EncodedType)
        least, greatest = int(field.type.minimum), int(field.type.maximum)
        if self.kind == "extreme":
            return self._chance.choice((least, greatest))
        return least + 1 + self._next() * 7919 % (greatest - least - 1)


def steps_of(
    block: Block, values: Values, put: Callable[[str, str], str], data: Callable[[str, bytes], str], *, writing: bool
) -> Iterator[str]:
    """The steps that make Codecs.java write the values, or read them in the same order."""
    for field in block.fields:
        yield put(field.name, shown(field, values[field.name]))
    for group in block.groups:
        yield f"group\t{group.name}\t{len(values[group.name])}" if writing else f"group\t{group.name}"
        for entry in values[group.name]:
            yield "next"
            yield from steps_of(group, entry, put, data, writing=writing)
        yield "end"
    for one in block.data:
        raw = values[one.name].encode() if one.encoding else values[one.name]
        yield data(one.name, raw)


def shown(field: Field, value: int | None) -> str:
    """A value as the jar prints it: of an enum the name, of null its number."""
    if isinstance(field.type, Enum):
        return JAVA_NULL if value is None else next(one.name for one in field.type.values if one.value == value)
    assert isinstance(field.type, EncodedType)
    return str(field.type.null if value is None else value)


def expected_lines(block: Block, values: Values) -> Iterator[str]:
    """What the steps of reading print."""
    for field in block.fields:
        yield shown(field, values[field.name])
    for group in block.groups:
        yield str(len(values[group.name]))
        for entry in values[group.name]:
            yield from expected_lines(group, entry)
    for data in block.data:
        yield (values[data.name].encode() if data.encoding else values[data.name]).hex()


def writing_steps(package: str, message: Message, values: Values) -> list[str]:
    steps = steps_of(
        message, values, lambda name, value: f"put\t{name}\t{value}", lambda name, raw: f"bytes\t{name}\t{raw.hex()}", writing=True
    )
    return [f"encode\t{package}\t{message.name}", *steps, "done"]


def reading_steps(package: str, message: Message, values: Values, raw: bytes) -> list[str]:
    steps = steps_of(message, values, lambda name, _value: f"get\t{name}", lambda name, _raw: f"bytes\t{name}", writing=False)
    return [f"decode\t{package}\t{message.name}\t{raw.hex()}", *steps]


def without_newer(block: Block, values: Values, version: int) -> Values:
    """The values that a message of that version has; a newer field reads as None there, newer data is empty."""
    found: Values = {field.name: values[field.name] if field.since_version <= version else None for field in block.fields}
    for group in block.groups:
        entries = values.get(group.name, [])
        found[group.name] = [without_newer(group, entry, version) for entry in entries] if group.since_version <= version else []
    for data in block.data:
        empty = "" if data.encoding else b""
        found[data.name] = values[data.name] if data.since_version <= version else empty
    return found


@pytest.mark.parametrize("kind", SAMPLES)
def test_both_write_the_same_bytes_and_read_each_others(java: Java, versions: dict[str, int], name: str, kind: str) -> None:
    schema, samples = read_schema(name, versions[name]), Samples(kind)
    codec, package = MessageCodec(schema), PACKAGES[name]
    messages = [(message, samples.of_block(message)) for message in schema.messages]
    official = run_steps(java, [step for message, values in messages for step in writing_steps(package, message, values)])
    header = {"version": versions[name], **MORE_OF_HEADER.get(name, {})}
    ours = [codec.encode(message.id, values, header) for message, values in messages]
    for (message, values), theirs, own in zip(messages, official, ours, strict=True):
        assert own.hex() == theirs, message.name
        assert plain(codec.decode(bytes.fromhex(theirs)).values) == values, message.name
    pairs = zip(messages, ours, strict=True)
    read = run_steps(java, [step for (message, values), own in pairs for step in reading_steps(package, message, values, own)])
    assert read == [line for message, values in messages for line in expected_lines(message, values)]


def test_our_newest_schema_reads_what_the_jar_writes(java: Java, versions: dict[str, int], name: str) -> None:
    version, newest, samples = versions[name], read_schema(name), Samples("distinct")
    package, codec = PACKAGES[name], MessageCodec(newest)
    messages = [(message, samples.of_block(message)) for message in read_schema(name, version).messages]
    official = run_steps(java, [step for message, values in messages for step in writing_steps(package, message, values)])
    for (message, values), theirs in zip(messages, official, strict=True):
        now = newest.message(message.id)
        assert now is not None
        assert plain(codec.decode(bytes.fromhex(theirs)).values) == without_newer(now, values | dict.fromkeys(newer(now, version)), version)


def test_the_jar_reads_what_our_newest_schema_writes(java: Java, versions: dict[str, int], name: str) -> None:
    version, newest, samples = versions[name], read_schema(name), Samples("distinct")
    package, codec = PACKAGES[name], MessageCodec(newest)
    then = {message.id: message for message in read_schema(name, version).messages}
    messages = [(then[message.id], samples.of_block(message)) for message in newest.messages if message.id in then]
    header = MORE_OF_HEADER.get(name, {})
    steps = [reading_steps(package, message, values, codec.encode(message.id, values, header)) for message, values in messages]
    read = run_steps(java, [step for some in steps for step in some])
    assert read == [line for message, values in messages for line in expected_lines(message, values)]


def newer(block: Block, version: int) -> list[str]:
    return [one.name for one in (*block.fields, *block.groups, *block.data) if one.since_version > version]


def plain(values: Any) -> Any:
    """Values without the names that enums bring along."""
    if isinstance(values, dict):
        return {name: plain(value) for name, value in values.items()}
    if isinstance(values, list):
        return [plain(value) for value in values]
    return int(values) if isinstance(values, int) else bytes(values) if isinstance(values, memoryview) else values
