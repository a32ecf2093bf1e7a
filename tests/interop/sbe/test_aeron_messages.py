"""Messages of the Archive and the Cluster, between the codecs in the official jar and our schemas: every message, both ways."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from aerowire.codegen.sbe.interpreter import MessageCodec
from aerowire.codegen.sbe.ir import Block, Message
from tests.conftest import SEED
from tests.interop.harness import Java
from tests.interop.sbe.aeron_codecs import PACKAGES, describe_codecs, run_steps
from tests.interop.sbe.samples import SAMPLES, Samples, Values, shown, steps_of, writing_steps
from tests.interop.sbe.vectors import read_schema

pytestmark = pytest.mark.interop

# The node state's header has two members beyond SBE's four; the official encoder of a message leaves them alone.
MORE_OF_HEADER = {"cluster_node_state": {"frameLength": 0, "padding": 0}}


@pytest.fixture(scope="module")
def versions(java: Java) -> dict[str, int]:
    """The version of each schema that the jar has."""
    described = describe_codecs(java)
    return {name: int(described[package]["MessageHeaderDecoder"]["SCHEMA_VERSION"]) for name, package in PACKAGES.items()}


@pytest.fixture(params=PACKAGES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


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
    schema, samples = read_schema(name, versions[name]), Samples(kind, random.Random(SEED))
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
    version, newest, samples = versions[name], read_schema(name), Samples("distinct", random.Random(SEED))
    package, codec = PACKAGES[name], MessageCodec(newest)
    messages = [(message, samples.of_block(message)) for message in read_schema(name, version).messages]
    official = run_steps(java, [step for message, values in messages for step in writing_steps(package, message, values)])
    for (message, values), theirs in zip(messages, official, strict=True):
        now = newest.message(message.id)
        assert now is not None
        assert plain(codec.decode(bytes.fromhex(theirs)).values) == without_newer(now, values | dict.fromkeys(newer(now, version)), version)


def test_the_jar_reads_what_our_newest_schema_writes(java: Java, versions: dict[str, int], name: str) -> None:
    version, newest, samples = versions[name], read_schema(name), Samples("distinct", random.Random(SEED))
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
