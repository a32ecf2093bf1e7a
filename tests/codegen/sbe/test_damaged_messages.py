"""Bytes that are no message: one clean error, at once, however they came about."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from aerowire.codegen.sbe.interpreter import JsonCodec, MessageCodec, MessageError
from aerowire.codegen.sbe.reader import load_message_schema
from tests.codegen.sbe.example_messages import order_bytes
from tests.codegen.sbe.mutation import mutated
from tests.codegen.sbe.random_messages import own_schema, random_message
from tests.codegen.sbe.writing import schema as written

SEED = 77


@pytest.fixture(scope="module")
def codec() -> MessageCodec:
    return MessageCodec(own_schema("orders"))


def test_every_truncation_tells_how_much_it_lacks(codec: MessageCodec) -> None:
    raw = order_bytes()
    for length in range(len(raw)):
        with pytest.raises(MessageError) as error:
            codec.decode(raw[:length])
        assert length < error.value.needed <= len(raw)  # type: ignore[operator]


def test_every_truncation_of_random_messages_is_told() -> None:
    schema, chance = own_schema("sensors"), random.Random(SEED)
    json_codec = JsonCodec(schema)
    for _ in range(20):
        raw = random_message(schema, schema.messages[0], chance, 1)
        for length in range(len(raw)):
            with pytest.raises(MessageError):
                json_codec.decode(raw[:length])


def test_reads_at_an_offset_of_any_buffer(codec: MessageCodec) -> None:
    raw = order_bytes()
    for buffer in (b"abc" + raw + b"more", bytearray(b"abc" + raw), memoryview(b"abc" + raw)):
        found = codec.decode(buffer, 3)
        assert (found.length, found.values["comment"]) == (len(raw), "c")


def test_says_what_where_expected_and_actual(codec: MessageCodec) -> None:
    raw = order_bytes()
    at = raw.index(b"b\2\0\0\0\1\2")  # the broker's text, then the seal's length
    with pytest.raises(MessageError) as error:
        codec.decode(raw[: at + 1] + struct.pack("<I", 0xFFFF_FFF0) + raw[at + 5 :])
    found = error.value
    assert str(found) == (
        f"Order.fills[0].seal: the data goes beyond the end (expected 4294967280 bytes, actual {len(raw) - at - 5} bytes, at byte {at + 5})"
    )
    assert (found.path, found.offset, found.needed) == ("Order.fills[0].seal", at + 5, at + 5 + 0xFFFF_FFF0)


def test_another_schema_s_and_unknown_messages_are_told(codec: MessageCodec) -> None:
    raw = order_bytes()
    with pytest.raises(MessageError, match=r"another schema \(expected schemaId 901, actual 5"):
        codec.decode(raw[:4] + b"\5\0" + raw[6:])
    with pytest.raises(MessageError, match=r"does not have .*actual 99"):
        codec.decode(raw[:2] + b"\x63\0" + raw[4:])
    with pytest.raises(MessageError, match=r"Order: the block is too short for its version \(expected at least 123 bytes, actual 122"):
        codec.decode(b"\x7a\0" + raw[2:])


def test_block_of_an_entry_is_long_enough_or_told(codec: MessageCodec) -> None:
    raw = order_bytes()
    at = 8 + 160
    with pytest.raises(MessageError, match=r"Order\.fills\[0\]: the block is too short"):
        codec.decode(raw[:at] + b"\3\0" + raw[at + 2 :])


@pytest.mark.parametrize("count", [1, 65_535])
def test_counts_that_the_bytes_cannot_hold_are_refused_before_they_are_used(codec: MessageCodec, count: int) -> None:
    raw = struct.pack("<HHHH", 160, 1, 901, 3) + bytes(160) + struct.pack("<HH", 65_535, count)
    with pytest.raises(MessageError, match=f"a group of {count} entries of at least 65545 bytes goes beyond the end"):
        codec.decode(raw)


def test_entries_without_bytes_are_limited(codec: MessageCodec) -> None:
    found = codec.decode(struct.pack("<HHHH", 0, 5, 901, 3) + struct.pack("<HH", 0, 3))
    assert found.values == {"nobodies": [{"kind": 0}] * 3}
    schema = own_schema("sensors")
    # 16 peaks of 2 bytes each, every one with 255 echoes of 2 bytes that are not there.
    echoes = struct.pack(">h", 1) + struct.pack(">BHB", 255, 0, 2)
    raw = struct.pack(">BB2sII4sI", 1, 77, b"", 6, 70000, b"", 28) + bytes(28) + struct.pack(">BHB", 16, 0, 2) + echoes * 16
    with pytest.raises(MessageError, match=r"Reading\.peaks\[0\]\.echoes: a group of 255 entries of at least 2 bytes goes beyond the end"):
        MessageCodec(schema).decode(raw)


def test_values_of_entries_without_bytes_are_limited(tmp_path: Path) -> None:
    """A constant and 99 elements, of which a message of version 0 has none: each is an object all the same."""
    types = '<type name="K" primitiveType="int8" presence="constant">1</type><type name="A" primitiveType="int8" length="99"/>'
    fields = '<field name="k" id="2" type="K"/><field name="a" id="3" type="A" sinceVersion="1"/>'
    text = written(types, f'<message name="M" id="1"><group name="g" id="1">{fields}</group></message>', 'version="1"')
    (tmp_path / "own.xml").write_text(text)
    codec = MessageCodec(load_message_schema(tmp_path / "own.xml"))
    assert len(codec.decode(struct.pack("<HHHHHH", 0, 1, 1, 0, 0, 10_485)).values["g"]) == 10_485  # type: ignore[arg-type]
    told = r"M\.g: has too many entries .* \(expected at most 65535 in a message, with 1048576 values, actual 10486 with 1048600,"
    with pytest.raises(MessageError, match=told):
        codec.decode(struct.pack("<HHHHHH", 0, 1, 1, 0, 0, 10_486))


def test_mutations_give_messages_or_clean_errors() -> None:
    told = mutated(SEED, 3_000)
    assert told.errors > 300
    assert told.messages > 300
