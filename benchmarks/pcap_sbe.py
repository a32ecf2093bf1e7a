"""How fast columns of SBE messages are decoded and encoded: `python benchmarks/pcap_sbe.py [--rows 1000000] [--spark] [--json]`.

Columns of messages of examples/schemas/market.xml: trades alone (a block of fixed length), books alone (a group and text), both mixed, and
trades of which one in a hundred is cut.  Each is decoded by `aerowire.pcap.sbe.decode`, encoded by `encode`, and decoded row by row by the
generated data classes; with `--spark` also by `sbe_decode` and `sbe_columns` in a local[2] session, with all members and with some, to a
sink that keeps nothing.  Warm, best of three; what counts are the ratios to the data classes of the same run.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.codegen.output import write_files
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.sbe.reader import load_message_schema
from aerowire.codegen.sbe.targets.flyweights import MessageFlyweightsTarget
from aerowire.pcap.sbe import decode, encode

SEED = 1
SCHEMA = Path(__file__).parents[1] / "examples" / "schemas" / "market.xml"
RUNS = 3
TEMPLATE_ROWS = 1000
CORES = 2
# What a query that needs some members asks for, by message.
SOME: dict[str | None, list[str]] = {
    "Trade": ["price.mantissa", "quantity"],
    "Book": ["levels.quantity"],
    None: ["Trade.price.mantissa", "Trade.quantity", "Book.levels.quantity"],
}
# Rows that the data classes decode: they take so long that fewer tell their speed.
TWIN_ROWS = 50_000


def data_classes(folder: Path) -> ModuleType:
    """Generate the data classes of the schema, and import them."""
    files = MessageFlyweightsTarget().render(load_message_schema(SCHEMA), Placement("market_of_benchmark"))
    write_files(folder, files, is_complete=False)
    sys.path.insert(0, str(folder))
    return import_module("market_of_benchmark")


def trade(market: Any, rng: random.Random) -> bytes:
    value = market.Trade(
        instrument=rng.choice(("ACME", "BOLT", "CROW")),
        time=rng.getrandbits(60),
        price=market.Price(mantissa=rng.getrandbits(40)),
        quantity=rng.getrandbits(20),
        side=rng.choice((market.Side.BUY, market.Side.SELL)),
        conditions=market.Conditions(rng.getrandbits(2)),
        trade_id=rng.choice((None, rng.getrandbits(40))),
    )
    return bytes(value.encode())


def book(market: Any, rng: random.Random) -> bytes:
    levels = [
        market.BookLevels(side=market.Side.BUY, price=market.Price(mantissa=rng.getrandbits(40)), quantity=rng.getrandbits(20))
        for _ in range(rng.randint(0, 6))
    ]
    return bytes(market.Book(instrument="ACME", time=rng.getrandbits(60), levels=levels, note=rng.choice(("", "opening"))).encode())


def columns(market: Any, rows: int) -> dict[str, tuple[str | None, pa.Array]]:
    """The columns by name, each with the message that is asked for."""
    rng = random.Random(SEED)
    trades = [trade(market, rng) for _ in range(TEMPLATE_ROWS)]
    books = [book(market, rng) for _ in range(TEMPLATE_ROWS)]
    mixed = [rng.choice(pair) for pair in zip(trades, books, strict=True)]
    cut = [one[:-1] if index % 100 == 0 else one for index, one in enumerate(trades)]
    times = max(1, rows // TEMPLATE_ROWS)
    kinds = {"trades": ("Trade", trades), "books": ("Book", books), "mixed": (None, mixed), "trades, 1 % cut": ("Trade", cut)}
    return {name: (message, pa.concat_arrays([pa.array(one, pa.binary())] * times)) for name, (message, one) in kinds.items()}


def rate(rows: int, run: Callable[[], object]) -> float:
    """Rows a second, best of some runs after one that warms up."""
    best = float("inf")
    for number in range(RUNS + 1):
        start = time.perf_counter()
        run()
        if number:
            best = min(best, time.perf_counter() - start)
    return rows / best


def by_data_classes(market: Any, messages: list[bytes]) -> list[Any]:
    found = []
    for one in messages:
        try:
            found.append(market.decode(one))
        except market.SbeError:
            found.append(None)
    return found


def by_spark(session: Any, column: pa.Array, message: str | None, folder: Path) -> dict[str, Callable[[], object]]:
    """Queries over Parquet files of the messages, one for each core, to a sink that keeps nothing."""
    from pyarrow import parquet

    from aerowire.pcap.sbe import sbe_columns, sbe_decode

    folder.mkdir()
    for number in range(CORES):
        share = -(-len(column) // CORES)
        parquet.write_table(pa.table({"payload": column.slice(number * share, share)}), folder / f"{number}.parquet")
    frame = session.read.parquet(str(folder))
    some = SOME[message]

    def to_nothing(made: Any) -> Callable[[], object]:
        return lambda: made.write.format("noop").mode("overwrite").save()

    return {
        "read alone": to_nothing(frame),
        "sbe_decode": to_nothing(frame.select(sbe_decode("payload", SCHEMA, message).alias("m"))),
        "sbe_decode, some": to_nothing(frame.select(sbe_decode("payload", SCHEMA, message, members=some).alias("m"))),
        "sbe_columns": to_nothing(sbe_columns(frame, "payload", SCHEMA, message)),
        "sbe_columns, some": to_nothing(sbe_columns(frame, "payload", SCHEMA, message, members=some)),
    }


def measure(market: Any, rows: int, session: Any, folder: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for name, (message, column) in columns(market, rows).items():
        messages = column.slice(0, TWIN_ROWS).to_pylist()
        rates = {"data classes": rate(len(messages), partial(by_data_classes, market, messages))}
        rates["decode"] = rate(len(column), partial(decode, column, SCHEMA, message=message))
        structs = decode(column, SCHEMA, message=message)
        rates["encode"] = rate(len(column), partial(encode, structs, SCHEMA, message=message))
        rates["decode, some"] = rate(len(column), partial(decode, column, SCHEMA, message=message, members=SOME[message]))
        if session is not None:
            for how, run in by_spark(session, column, message, folder / name.replace(" ", "_")).items():
                rates[f"{how}, local[{CORES}]"] = rate(len(column), run)
        found[name] = rates
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--spark", action="store_true", help="measure Spark too")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        market = data_classes(Path(folder))
        session = None
        if arguments.spark:
            from aerowire.pcap.spark import session as open_session

            session = open_session("aerowire benchmark", master=f"local[{CORES}]")
        found = measure(market, arguments.rows, session, Path(folder))
        if session is not None:
            session.stop()
    if arguments.json:
        print(json.dumps(found))
        return
    for name, rates in found.items():
        print(f"{name} ({arguments.rows:,} rows)")
        for how, each in rates.items():
            print(f"    {how:28} {each / 1e6:8.3f} M rows/s {each / rates['data classes']:8.1f} x")


if __name__ == "__main__":
    main()
