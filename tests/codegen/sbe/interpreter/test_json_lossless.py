"""Whatever the bytes of a message are, its JSON gives them back; random values give themselves back."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerowire.codegen.sbe.interpreter import JsonCodec, MessageCodec
from aerowire.codegen.sbe.transcoding.encoding import parse_json
from tests.codegen.sbe.random_messages import own_schema, random_message

SEED = 901


@pytest.mark.parametrize("name", ["orders", "sensors"])
def test_json_gives_back_every_byte_of_random_messages(name: str) -> None:
    schema, chance = own_schema(name), random.Random(SEED)
    codec = JsonCodec(schema)
    for index in range(400):
        message = chance.choice(schema.messages)
        version = chance.randrange(schema.version + 2)
        raw = random_message(schema, message, chance, version)
        values, length = codec.decode(raw)
        assert length == len(raw), (SEED, index)
        again = parse_json(json.dumps(values).encode())
        assert codec.encode(again).hex() == raw.hex(), (SEED, index, values)


@pytest.mark.parametrize("name", ["orders", "sensors"])
def test_values_give_themselves_back(name: str) -> None:
    schema, chance = own_schema(name), random.Random(SEED)
    codec = MessageCodec(schema)
    for index in range(200):
        message = chance.choice(schema.messages)
        raw = random_message(schema, message, chance, chance.randrange(schema.version + 2))
        first = codec.decode(raw)
        header = first.header | {"version": first.header["version"], "blockLength": message.block_length}
        second = codec.decode(codec.encode(message.name, first.values, header))
        assert repr(second.values) == repr(first.values), (SEED, index)


order = st.fixed_dictionaries(
    {
        "id": st.integers(0, 2**64 - 1),
        "symbol": st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=6),
        "note": st.text(st.characters(min_codepoint=1, codec="utf-8"), max_size=2),
        "quantity": st.none() | st.integers(0, 2**64 - 2),
        "depth": st.none() | st.integers(0, 2**15 - 1),
        "ratio": st.none() | st.floats(width=32, allow_nan=False),
        "weights": st.lists(st.floats(allow_nan=False), min_size=3, max_size=3),
        "levels": st.lists(st.integers(0, 2**16 - 1), min_size=4, max_size=4),
        "tag": st.none() | st.characters(min_codepoint=1, max_codepoint=0xFF),
        "grade": st.characters(max_codepoint=0xFF),
        "side": st.integers(0, 255),
        "state": st.none() | st.integers(0, 254),
        "flags": st.integers(0, 2**16 - 1),
        "price": st.fixed_dictionaries({"mantissa": st.none() | st.integers(-(2**63) + 1, 2**63 - 1)}),
        "leg": st.fixed_dictionaries(
            {
                "symbol": st.just("AB"),
                "price": st.just({"mantissa": 1}),
                "side": st.just(66),
                "flags": st.just(8),
                "inner": st.fixed_dictionaries({"one": st.floats(width=32, allow_nan=False), "two": st.integers(0, 255)}),
            }
        ),
        "venue": st.none() | st.integers(0, 2**32 - 2),
        "limit": st.none() | st.fixed_dictionaries({"mantissa": st.integers(-(2**63) + 1, 2**63 - 1)}),
        "urgent": st.integers(0, 255),
        "fills": st.lists(
            st.fixed_dictionaries(
                {
                    "size": st.integers(0, 2**32 - 1),
                    "state": st.integers(0, 255),
                    "fee": st.none() | st.integers(-(2**31) + 1, 2**31 - 1),
                    "parts": st.lists(st.fixed_dictionaries({"share": st.integers(0, 255), "remark": st.text(max_size=5)}), max_size=2),
                    "broker": st.text(max_size=5),
                    "seal": st.binary(max_size=9),
                }
            ),
            max_size=2,
        ),
        "hops": st.lists(st.fixed_dictionaries({"node": st.integers(0, 9), "delay": st.integers(0, 2**32 - 1)}), max_size=3),
        "comment": st.text(max_size=20),
        "payload": st.binary(max_size=20),
    }
)


@settings(max_examples=100, deadline=None)
@given(order)
def test_what_is_encoded_is_decoded(values: dict[str, Any]) -> None:
    codec = MessageCodec(own_schema("orders"))
    found = codec.decode(codec.encode("Order", values)).values
    constants = {"currency": "EUR", "kind": 1}
    assert _numbers(found) == _numbers(values | constants)


def _numbers(value: Any) -> Any:
    """Values to compare: constants within composites are not given, and -0.0 is not 0.0."""
    if isinstance(value, dict):
        return {name: _numbers(one) for name, one in value.items() if name != "scale"}
    if isinstance(value, list):
        return [_numbers(one) for one in value]
    return (value, math.copysign(1, value)) if isinstance(value, float) else value
