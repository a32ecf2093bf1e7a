"""The same message through what else Python has: `struct`, `ctypes`, protobuf and PyPI's sbe.

Each maker returns a pair of functions: one decodes everything of a message into Python values, the other encodes it from them.
It raises ImportError where its package is not installed.
"""

from __future__ import annotations

import ctypes
import importlib
import struct
from pathlib import Path
from typing import Any

from benchmarks.sbe_parts.measuring import Decode, Encode, Maker

SCHEMA = Path(__file__).resolve().parent / "trade.xml"

TRADE: dict[str, Any] = {
    "tradeId": 9_000_000_001,
    "timestamp": 1_700_000_000_123_456_789,
    "price": -1_234_567,
    "quantity": 2_500,
    "instrument": 77,
    "venue": 12,
    "side": 1,
    "rate": 1.0625,
    "legs": [{"price": 1_000_000 + i, "quantity": 10 * i} for i in range(3)],
    "account": b"ACCOUNT-00000042",
}
ROOT, LEG = "QQqIiHBd", "qI"
ROOT_NAMES = ("tradeId", "timestamp", "price", "quantity", "instrument", "venue", "side", "rate")
LEG_NAMES = ("price", "quantity")
BLOCK_LENGTH, LEG_LENGTH = struct.calcsize("<" + ROOT), struct.calcsize("<" + LEG)
HEADER = (BLOCK_LENGTH, 1, 91, 0)


def fused_struct() -> tuple[Decode, Encode]:
    """One `Struct` for the whole message, which works for three legs only."""
    whole = struct.Struct("<HHHH" + ROOT + "HH" + LEG * 3 + "H")

    def decode(data: bytes) -> object:
        found = whole.unpack_from(data)
        return {
            "tradeId": found[4],
            "timestamp": found[5],
            "price": found[6],
            "quantity": found[7],
            "instrument": found[8],
            "venue": found[9],
            "side": found[10],
            "rate": found[11],
            "legs": [{"price": found[i], "quantity": found[i + 1]} for i in (14, 16, 18)],
            "account": data[whole.size : whole.size + found[20]],
        }

    def encode() -> bytes:
        trade = TRADE
        one, two, three = trade["legs"]
        account: bytes = trade["account"]
        data = whole.pack(
            *HEADER,
            trade["tradeId"],
            trade["timestamp"],
            trade["price"],
            trade["quantity"],
            trade["instrument"],
            trade["venue"],
            trade["side"],
            trade["rate"],
            LEG_LENGTH,
            3,
            one["price"],
            one["quantity"],
            two["price"],
            two["quantity"],
            three["price"],
            three["quantity"],
            len(account),
        )
        return data + account

    return decode, encode


def cached_struct() -> tuple[Decode, Encode]:
    """A `Struct` for each part, as one writes it by hand for any number of legs."""
    header, root, size, leg, length = (struct.Struct("<" + one) for one in ("HHHH", ROOT, "HH", LEG, "H"))

    def decode(data: bytes) -> object:
        block_length = header.unpack_from(data)[0]
        found = dict(zip(ROOT_NAMES, root.unpack_from(data, 8), strict=False))
        at = 8 + block_length
        leg_length, count = size.unpack_from(data, at)
        at += 4
        legs = []
        for _ in range(count):
            legs.append(dict(zip(LEG_NAMES, leg.unpack_from(data, at), strict=False)))
            at += leg_length
        (bytes_,) = length.unpack_from(data, at)
        found["legs"] = legs
        found["account"] = data[at + 2 : at + 2 + bytes_]
        return found

    def encode() -> bytes:
        trade = TRADE
        parts = [header.pack(*HEADER), root.pack(*[trade[name] for name in ROOT_NAMES]), size.pack(LEG_LENGTH, len(trade["legs"]))]
        parts += [leg.pack(one["price"], one["quantity"]) for one in trade["legs"]]
        parts += [length.pack(len(trade["account"])), trade["account"]]
        return b"".join(parts)

    return decode, encode


def ctypes_structure() -> tuple[Decode, Encode]:
    """Packed structures, whose fields are read one by one."""
    kinds: dict[str, Any] = {"Q": ctypes.c_uint64, "q": ctypes.c_int64, "I": ctypes.c_uint32, "i": ctypes.c_int32}
    kinds |= {"H": ctypes.c_uint16, "B": ctypes.c_uint8, "d": ctypes.c_double}

    class Leg(ctypes.LittleEndianStructure):
        _pack_ = 1
        _fields_ = [(name, kinds[one]) for name, one in zip(LEG_NAMES, LEG, strict=True)]

    class Trade(ctypes.LittleEndianStructure):
        _pack_ = 1
        _fields_ = [
            *((name, ctypes.c_uint16) for name in ("blockLength", "templateId", "schemaId", "version")),
            *((name, kinds[one]) for name, one in zip(ROOT_NAMES, ROOT, strict=True)),
            ("legLength", ctypes.c_uint16),
            ("numLegs", ctypes.c_uint16),
            ("legs", Leg * 3),
            ("length", ctypes.c_uint16),
        ]

    end = ctypes.sizeof(Trade)

    def decode(data: bytes) -> object:
        trade = Trade.from_buffer_copy(data)
        found: dict[str, Any] = {name: getattr(trade, name) for name in ROOT_NAMES}
        found["legs"] = [{name: getattr(leg, name) for name in LEG_NAMES} for leg in trade.legs]
        found["account"] = data[end : end + trade.length]
        return found

    def encode() -> bytes:
        trade = Trade(*HEADER)
        for name in ROOT_NAMES:
            setattr(trade, name, TRADE[name])
        trade.legLength, trade.numLegs, trade.length = LEG_LENGTH, 3, len(TRADE["account"])
        for leg, one in zip(trade.legs, TRADE["legs"], strict=True):
            for name in LEG_NAMES:
                setattr(leg, name, one[name])
        account: bytes = TRADE["account"]
        return bytes(trade) + account

    return decode, encode


def protobuf() -> tuple[Decode, Encode]:
    """The message as protobuf would have it (not the same bytes), by the implementation that the package brings."""
    descriptor_pb2, descriptor_pool, message_factory = (
        importlib.import_module(f"google.protobuf.{name}") for name in ("descriptor_pb2", "descriptor_pool", "message_factory")
    )
    kinds = descriptor_pb2.FieldDescriptorProto
    types = {"Q": kinds.TYPE_UINT64, "q": kinds.TYPE_SINT64, "I": kinds.TYPE_UINT32, "i": kinds.TYPE_SINT32}
    types |= {"H": kinds.TYPE_UINT32, "B": kinds.TYPE_UINT32, "d": kinds.TYPE_DOUBLE}
    file = descriptor_pb2.FileDescriptorProto(name="trade.proto", package="bench", syntax="proto3")
    for message, names, letters in (("Leg", LEG_NAMES, LEG), ("Trade", ROOT_NAMES, ROOT)):
        one = file.message_type.add(name=message)
        for number, (name, letter) in enumerate(zip(names, letters, strict=True), 1):
            one.field.add(name=name, number=number, type=types[letter], label=kinds.LABEL_OPTIONAL)
    file.message_type[1].field.add(name="legs", number=9, type=kinds.TYPE_MESSAGE, type_name=".bench.Leg", label=kinds.LABEL_REPEATED)
    file.message_type[1].field.add(name="account", number=10, type=kinds.TYPE_BYTES, label=kinds.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    trade_class = message_factory.GetMessageClass(pool.FindMessageTypeByName("bench.Trade"))

    def decode(data: bytes) -> object:
        trade = trade_class.FromString(data)
        return {
            "tradeId": trade.tradeId,
            "timestamp": trade.timestamp,
            "price": trade.price,
            "quantity": trade.quantity,
            "instrument": trade.instrument,
            "venue": trade.venue,
            "side": trade.side,
            "rate": trade.rate,
            "legs": [{"price": leg.price, "quantity": leg.quantity} for leg in trade.legs],
            "account": trade.account,
        }

    def encode() -> bytes:
        data: bytes = trade_class(**TRADE).SerializeToString()
        return data

    return decode, encode


def pypi_sbe() -> tuple[Decode, Encode]:
    """PyPI's sbe, which interprets the schema.  Of data that is no text it reads and writes one byte."""
    sbe = importlib.import_module("sbe")
    with SCHEMA.open(encoding="utf-8") as file:
        schema = sbe.Schema.parse(file)
    message = schema.messages[1]
    trade = TRADE | {"account": {"length": 1, "varData": TRADE["account"][0]}}
    header = dict(zip(("blockLength", "templateId", "schemaId", "version"), HEADER, strict=True))

    def decode(data: bytes) -> object:
        return schema.decode(data).value

    def encode() -> bytes:
        data: bytes = schema.encode(message, trade, header)
        return data

    return decode, encode


RIVALS: dict[str, Maker] = {
    "struct, fused": fused_struct,
    "struct, cached": cached_struct,
    "ctypes": ctypes_structure,
    "protobuf": protobuf,
    "PyPI sbe": pypi_sbe,
}
