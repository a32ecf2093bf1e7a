"""The message through our generated packages: data classes, properties, native codecs, columns."""

from __future__ import annotations

import importlib
import struct
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.sbe_parts.measuring import Decode, Encode, Maker
from benchmarks.sbe_parts.rivals import SCHEMA, TRADE, fused_struct

TICK_ID = 2
PACKAGE, NATIVE = "bench_trade", "bench_trade_native"


def generate(schema: Path, out: Path, package: str, *options: str) -> None:
    """Run the command."""
    command = [sys.executable, "-m", "aerowire.codegen.main", "generate", str(schema), "--out", str(out), "--package", package, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise ImportError(f"codegen generate exited {done.returncode}: {(done.stdout + done.stderr).strip().rpartition(chr(10))[2]}")


class Generated:
    """Generates into a folder what it is asked for, and imports it from there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        sys.path.insert(0, str(folder))

    def makers(self) -> dict[str, Maker]:
        return {"aerowire, data class": self.data_class, "aerowire, properties": self.properties, "aerowire, native": self.native}

    def package(self, name: str, *options: str) -> ModuleType:
        if not (self.folder / name).exists():
            generate(SCHEMA, self.folder, name, *options)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    def data_class(self) -> tuple[Decode, Encode]:
        """The fused reader and writer."""
        return _data_class(self.package(PACKAGE))

    def properties(self) -> tuple[Decode, Encode]:
        """Decoder and encoder: every property is read, each on its own, and kept nowhere, as a handler of messages does."""
        return _properties(self.package(PACKAGE))

    def native(self) -> tuple[Decode, Encode]:
        """The data class, compiled."""
        self.package(NATIVE, "--native")
        return _data_class(importlib.import_module(f"{NATIVE}.native"))

    def tick(self, trade: bytes) -> bytes:
        """The message that has only fields: those of the other one, under its own template id."""
        block_length, _, schema_id, version = struct.unpack_from("<HHHH", trade)
        return struct.pack("<HHHH", block_length, TICK_ID, schema_id, version) + trade[8 : 8 + block_length]

    def columns(self) -> Any:
        """The layout of the message that has only fields, which decodes to columns."""
        generate(SCHEMA, self.folder, "bench_columns", "--target", "dtypes")
        importlib.invalidate_caches()
        return importlib.import_module("bench_columns.dtypes").MESSAGES["Tick"]


def _data_class(package: Any) -> tuple[Decode, Encode]:
    trade = package.Trade.decode(fused_struct()[1]())
    _check(trade.encode())
    return package.Trade.decode, trade.encode


def _properties(package: Any) -> tuple[Decode, Encode]:
    decoder, encoder = package.TradeDecoder(), package.TradeEncoder()
    buffer = bytearray(256)

    def decode(data: bytes) -> object:
        trade = decoder.wrap_and_apply_header(data, 0)
        _ = trade.trade_id
        _ = trade.timestamp
        _ = trade.price
        _ = trade.quantity
        _ = trade.instrument
        _ = trade.venue
        _ = trade.side
        _ = trade.rate
        for leg in trade.legs:
            _ = leg.price
            _ = leg.quantity
        return trade.account

    def encode() -> bytes:
        trade = encoder.wrap_and_apply_header(buffer, 0)
        trade.trade_id = TRADE["tradeId"]
        trade.timestamp = TRADE["timestamp"]
        trade.price = TRADE["price"]
        trade.quantity = TRADE["quantity"]
        trade.instrument = TRADE["instrument"]
        trade.venue = TRADE["venue"]
        trade.side = TRADE["side"]
        trade.rate = TRADE["rate"]
        for leg, given in zip(trade.legs(len(TRADE["legs"])), TRADE["legs"], strict=True):
            leg.price = given["price"]
            leg.quantity = given["quantity"]
        trade.account = TRADE["account"]
        return bytes(buffer[: trade.sbe_limit])

    _check(encode())
    return decode, encode


def _check(data: bytes) -> None:
    """What is measured writes the message."""
    expected = fused_struct()[1]()
    assert data == expected, f"expected {expected.hex()}, actual {data.hex()}"
