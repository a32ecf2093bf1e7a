"""Values of the schemas' messages, for tests that change one thing of them."""

from __future__ import annotations

from typing import Any

from aerowire.codegen.sbe.interpreter import JsonCodec, MessageCodec
from tests.codegen.sbe.random_messages import own_schema


def order_values() -> dict[str, Any]:
    """An Order of the schema's own version, as Python values."""
    return {
        "id": 1,
        "symbol": "AB",
        "note": "né",
        "quantity": None,
        "depth": None,
        "ratio": 0.1,
        "weights": [1.0, 2.0, -0.0],
        "levels": [1, 2, 3, 65535],
        "tag": None,
        "grade": "x",
        "side": "Buy",
        "state": None,
        "flags": 9,
        "price": {"mantissa": 5},
        "leg": {"symbol": "L", "price": {}, "side": 83, "flags": 0, "inner": {"one": 1.5, "two": 2}},
        "venue": None,
        "limit": {},
        "urgent": 1,
        "fills": [
            {
                "size": 1,
                "state": 1,
                "fee": -7,
                "parts": [{"share": 1, "remark": "r"}, {"share": 2, "remark": ""}],
                "broker": "b",
                "seal": b"\1\2",
            }
        ],
        "hops": [{"node": 1, "delay": 2}],
        "comment": "c",
        "payload": b"",
    }


def order_bytes() -> bytes:
    """The message of `order_values`."""
    return MessageCodec(own_schema("orders")).encode("Order", order_values())


def order_json() -> dict[str, Any]:
    """The JSON of `order_values`."""
    return JsonCodec(own_schema("orders")).decode(order_bytes())[0]
