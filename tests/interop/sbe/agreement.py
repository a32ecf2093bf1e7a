"""One random schema and its messages, held against the official tool: the same verdict, the same bytes, the same values.

Knows how two sides are compared and what is said when they differ (the seed, the schema, the message); how schemas and values are drawn
is in tests/support, how each side is asked in official.py and ours.py.
"""

from __future__ import annotations

import itertools
import json
import math
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from aerowire.codegen.sbe.interpreter import JsonCodec, MessageCodec
from aerowire.codegen.sbe.reader import load_message_schema, read_message_schema
from tests.interop.sbe.json_values import json_difference
from tests.interop.sbe.official import OfficialTool
from tests.interop.sbe.ours import KINDS, Codec, generated
from tests.interop.sbe.tokens import token_differences
from tests.support.sbe.drawing import draw_schema
from tests.support.sbe.schemas import Block, Composite, Encoded, Enum, Schema, Type, is_constant, living
from tests.support.sbe.values import Values, draw_values, null_members, with_null_members


@dataclass(frozen=True)
class Drawn:
    """A schema that was drawn from a seed, and the file of each of its versions."""

    seed: int
    schema: Schema
    folder: Path

    @classmethod
    def of(cls, seed: int, folder: Path) -> Drawn:
        return cls(seed, draw_schema(Random(seed)), folder).written()

    def written(self) -> Drawn:
        for version in self.versions:
            self.path(version).write_text(self.schema.xml(version), encoding="utf-8")
        return self

    @property
    def versions(self) -> range:
        return range(self.schema.version + 1)

    def path(self, version: int) -> Path:
        return self.folder / f"drawn-{self.seed}-v{version}.xml"

    def values(self, version: int, count: int) -> Iterator[tuple[Block, Values]]:
        """Draw messages of a version, of each kind in turn."""
        random = Random(f"{self.seed} {version}")
        kinds = list(living(self.schema.messages, version))
        for index in range(count):
            block = kinds[index % len(kinds)]
            yield block, draw_values(random, self.schema, block, version)


BEHIND = 64  # more than any composite's newer members


@contextmanager
def explained(drawn: Drawn, **more: object) -> Iterator[None]:
    """Say of a failure how it comes again."""
    try:
        yield
    except Exception as error:
        if getattr(error, "__notes__", None):
            raise  # it was said already
        error.add_note(f"seed of the schema: {drawn.seed}")
        for name, value in more.items():
            error.add_note(f"{name}: {value.hex() if isinstance(value, bytes) else value}")
        error.add_note(drawn.schema.xml())
        raise


def check_all(official: OfficialTool, drawn: Drawn, messages: int) -> int:
    """Everything below, with every codec of ours; returns how many messages there were."""
    newest = drawn.schema.version
    check_verdicts(official, drawn)
    check_official_round_trip(official, drawn, messages)
    check_json(official, drawn, JsonCodec(load_message_schema(drawn.path(newest))), messages)
    with explained(drawn), generated({version: drawn.path(version) for version in drawn.versions}) as packages:
        for kind in KINDS:
            codecs = {version: kind(packages[version]) for version in drawn.versions}
            check_messages(official, drawn, codecs[newest], messages)
            check_versions(official, drawn, codecs, max(2, messages // 5))
    return messages


def check_verdicts(official: OfficialTool, drawn: Drawn) -> None:
    """Both sides accept every version of a schema that is valid, and make the same of it."""
    for version in drawn.versions:
        with explained(drawn, version=version):
            verdict = official.read(drawn.path(version))
            reading = read_message_schema(drawn.path(version))
            assert verdict.is_valid, (verdict.exception, verdict.errors)
            assert reading.schema is not None, [str(problem) for problem in reading.problems]
            assert token_differences(reading.schema, official.tokens(drawn.path(version))) == []


def check_official_round_trip(official: OfficialTool, drawn: Drawn, messages: int) -> None:
    """What the official encoders write their decoders read: else a comparison with them would say nothing."""
    if not drawn.schema.makes_java:
        return
    version = drawn.schema.version
    path = drawn.path(version)
    official.read(path)
    for block, values in drawn.values(version, messages):
        with explained(drawn, message=block.name, values=values):
            encoded = official.encode(path, block.name, with_null_members(block, values, version))
            decoded = official.decode(path, encoded)
            assert (decoded.message, decoded.length, decoded.skipped) == (block.name, len(encoded), len(encoded))
            assert wire_values(block, decoded.values, version) == wire_values(block, values, version)


def check_messages(official: OfficialTool, drawn: Drawn, codec: Codec, messages: int) -> None:
    """Both sides make the same bytes of values, and ours reads what the official one wrote."""
    version = drawn.schema.version
    path = drawn.path(version)
    official.read(path)
    for block, values in drawn.values(version, messages):
        with explained(drawn, codec=codec.name, message=block.name, values=values):
            written = codec.encode(block.name, values)
            theirs = official.encode(path, block.name, with_null_members(block, values, version)) if drawn.schema.makes_java else written
            assert written.hex() == theirs.hex()
            read = codec.decode(theirs)
            assert read.message == block.name
            assert read.length in (len(theirs), None)
            assert wire_values(block, read.values, version) == wire_values(block, values, version)
            assert codec.encode(block.name, read.values) == theirs


def check_json(official: OfficialTool, drawn: Drawn, codec: JsonCodec, messages: int) -> None:
    """Both sides print a message as the same JSON, by value, and ours comes back as the same bytes."""
    if not drawn.schema.reads_json:
        return
    version = drawn.schema.version
    path = drawn.path(version)
    official.read(path)
    writer = MessageCodec(codec.schema)
    for block, values in drawn.values(version, messages):
        message = writer.encode(block.name, values)
        with explained(drawn, message=block.name, values=values, bytes=message):
            # The printer looks for constant enums behind the message, too.
            theirs = json.loads(official.print_json(path, message + bytes(8)))
            ours = codec.decode_whole(message)
            assert json_difference(block, theirs, ours, version) is None
            assert codec.encode(json.loads(json.dumps(ours))) == message


def check_versions(official: OfficialTool, drawn: Drawn, codecs: Mapping[int, Codec], messages: int) -> None:
    """What one version of a schema wrote another one reads, and both sides find the same in it."""
    if not drawn.schema.makes_java:
        return
    for version in drawn.versions:
        official.read(drawn.path(version))
    for writer, reader in itertools.permutations(drawn.versions, 2):
        if writer > reader and not drawn.schema.reads_newer:
            continue
        for block, values in drawn.values(writer, messages):
            if block.since > reader:
                continue
            with explained(drawn, codec=codecs[reader].name, writer=writer, reader=reader, message=block.name, values=values):
                message = codecs[writer].encode(block.name, values)
                # The official classes of composites know no version: they read newer members from what stands behind an older message.
                theirs = official.decode(drawn.path(reader), message + bytes(BEHIND))
                read = codecs[reader].decode(message)
                assert theirs.message == read.message == block.name
                common = min(writer, reader)
                wanted = wire_values(block, values, common)
                assert wire_values(block, theirs.values, common) == wanted
                assert wire_values(block, read.values, common) == wanted
                assert_absent(block, read.values, writer, reader)
                if writer < reader:
                    assert theirs.length == len(message)
                    assert read.length in (len(message), None)


def assert_absent(block: Block, values: Values, writer: int, reader: int) -> None:
    """What the reader's version has and the writer's did not is null, or empty."""
    for field in living(block.fields, reader):
        value: Any = values[field.name] if not field.is_constant else None
        if field.since > writer and not field.is_constant:
            assert value is None, (field.name, value)
        elif isinstance(field.type, Composite) and value is not None:
            for member in living(field.type.members, reader):
                if member.since > writer and not is_constant(member.type):
                    assert value[member.name] is None, (field.name, member.name, value)
    for group in living(block.groups, reader):
        if group.since > writer:
            assert not values[group.name], (group.name, values[group.name])
        for entry in values[group.name]:
            assert_absent(group, entry, writer, reader)
    for data in living(block.data, reader):
        if data.since > writer:
            assert not values[data.name], (data.name, values[data.name])


def wire_values(block: Block, values: Values, version: int) -> Values:
    """Values in the one form in which they are compared: every number as it stands on the wire, floats and data as hexadecimal text.

    What is newer than `version` is left out, and so are constants.
    """
    found: Values = {}
    for field in living(block.fields, version):
        if not field.is_constant:
            found[field.name] = _wire(field.type, values[field.name], version)
    for group in living(block.groups, version):
        found[group.name] = [wire_values(group, entry, version) for entry in values[group.name]]
    for data in living(block.data, version):
        value = values[data.name]
        found[data.name] = value if isinstance(value, str) else bytes(value).hex()
    return found


def _wire(one: Type, value: object, version: int) -> object:
    match one:
        case Composite():
            value = null_members(one, version) if value is None else value
            assert isinstance(value, dict)
            members = [member for member in living(one.members, version) if not is_constant(member.type)]
            return {member.name: _wire(member.type, value[member.name], version) for member in members}
        case Enum():
            return one.null if value is None else value
        case Encoded() if isinstance(value, list):
            return [_wire_number(one, item) for item in value]
        case Encoded() if not one.is_text:
            return _wire_number(one, value)
    return value


def _wire_number(one: Encoded, value: object) -> object:
    """Characters are characters; of floats every bit counts, but for those of NaN."""
    number = one.null if value is None else value
    if one.primitive == "char":
        return number if isinstance(number, str) else chr(int(one.null))
    if one.primitive in ("float", "double") and isinstance(number, int | float):
        return "nan" if math.isnan(number) else struct.pack("<d", number).hex()
    return number
