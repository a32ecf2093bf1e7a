"""Random messages with some bytes changed: what is read goes back to the same bytes, and what is not is a MessageError."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

from aerowire.codegen.sbe.interpreter import JsonCodec, MessageCodec, MessageError
from aerowire.codegen.sbe.transcoding.encoding import parse_json
from tests.codegen.sbe.random_messages import own_schema, random_message

EDGES = (b"\0", b"\xff", b"\x7f", b"\x80", b"\xff\xff", b"\xff\xff\xff\xff", b"\xfe\xff", b"\0\0\0\x80", b"\0\0\0\0")
RENEWED = 25  # mutations of one message


@dataclass
class Told:
    """How many mutations were still messages, and how many were told to be none."""

    messages: int = 0
    errors: int = 0


def mutated(seed: int, count: int) -> Told:
    """Try so many mutations.  Raises AssertionError with the seed and the bytes when one is read otherwise than it is written."""
    chance = random.Random(seed)
    told = Told()
    raw, codecs = b"", {name: (JsonCodec(own_schema(name)), MessageCodec(own_schema(name))) for name in ("orders", "sensors")}
    name = "orders"
    for index in range(count):
        if index % RENEWED == 0:
            name = chance.choice(("orders", "sensors"))
            schema = own_schema(name)
            raw = random_message(schema, chance.choice(schema.messages), chance, chance.randrange(schema.version + 2))
        changed = _change(raw, chance)
        try:
            _read_and_write(*codecs[name], changed, told)
        except Exception as error:
            error.add_note(f"seed {seed}, mutation {index}, schema {name}, bytes {changed.hex()}")
            raise
    return told


def _read_and_write(json_codec: JsonCodec, codec: MessageCodec, changed: bytes, told: Told) -> None:
    try:
        values = json_codec.decode_whole(changed)
    except MessageError as error:
        told.errors += len(str(error)) > 0
        values = None
    if values is not None:
        told.messages += 1
        assert json_codec.encode(parse_json(json.dumps(values).encode())) == changed
    try:
        found = codec.decode(changed)
    except MessageError:
        assert values is None
        return
    assert values is not None
    assert found.length <= len(changed)


def _change(raw: bytes, chance: random.Random) -> bytes:
    out = bytearray(raw)
    for _ in range(chance.choice((1, 1, 2, 4))):
        kind = chance.random()
        # The heads in front are where damage does most.
        at = chance.randrange(min(len(out), 24)) if chance.random() < 0.2 else chance.randrange(len(out) + 1)
        if kind < 0.5:
            edge = chance.choice(EDGES)
            out[at : at + len(edge)] = edge
        elif kind < 0.75:
            out[at : at + 1] = chance.randbytes(1)
        elif kind < 0.9:
            del out[at:]
        else:
            out[at:at] = chance.randbytes(chance.choice((1, 2, 40)))
        if not out:
            break
    return bytes(out)
