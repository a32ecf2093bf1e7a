"""Vectors of messages for `conformance codecs`: values of our own, and the bytes that the official encoders make of them."""

from __future__ import annotations

import json
import random
from typing import Any

from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.reader import ReadOptions, load_message_schema
from aerowire.codegen.sources import default_spec
from tests.interop.harness import Java
from tests.interop.sbe.aeron_codecs import PACKAGES, describe_codecs, run_steps
from tests.interop.sbe.samples import SAMPLES, Samples, Values, writing_steps

SEED = 1


def official_vectors(java: Java) -> list[str]:
    """Return a line for each message of each schema, in each kind of samples: schema and name, values, bytes."""
    described = describe_codecs(java)
    lines: list[str] = []
    for name, package in PACKAGES.items():
        version = int(described[package]["MessageHeaderDecoder"]["SCHEMA_VERSION"])
        for kind in SAMPLES:
            lines += vectors_of(java, name, package, read_schema(name, version), Samples(kind, random.Random(SEED)))
    return lines


def vectors_of(java: Java, name: str, package: str, schema: MessageSchema, samples: Samples) -> list[str]:
    messages = [(message, samples.of_block(message)) for message in schema.messages]
    written = run_steps(java, [step for message, values in messages for step in writing_steps(package, message, values)])
    return [
        f"{name}.{message.name}\t{json.dumps(plain(values), separators=(',', ':'))}\t{raw}"
        for (message, values), raw in zip(messages, written, strict=True)
    ]


def read_schema(name: str, version: int | None = None) -> MessageSchema:
    """Return one of our schemas, as it was at some version."""
    return load_message_schema(default_spec() / f"{name}.xml", options=ReadOptions(since_version=version))


def plain(values: Values) -> dict[str, Any]:
    """Return values as JSON has them: bytes in hexadecimal."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, list):
            found[name] = [plain(entry) for entry in value]
        else:
            found[name] = {"hex": value.hex()} if isinstance(value, bytes) else value
    return found
