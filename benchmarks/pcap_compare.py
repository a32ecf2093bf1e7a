#!/usr/bin/env python3
"""Readers of captures beside each other in one run: this project's core and Spark source, tshark, dpkt with struct, scapy.

    python -m benchmarks.pcap_compare
    python -m benchmarks.pcap_compare --packets 500000 --only core tshark
    python -m benchmarks.pcap_compare --profile

(as a module, from the top of the checkout: the capture is made by a tool of the tests)

Each reads packets of the same kinds and takes 18 fields of every frame; the slow ones read fewer of them, and rates are compared.  Best of
three, after one run that is not counted, of those on Spark three: Java compiles what it runs again.  dpkt is no dependency: `pip install
dpkt` first, or its row says that it is missing.
"""

from __future__ import annotations

import argparse
import cProfile
import importlib
import os
import pstats
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aerowire.pcap import Capture
from aerowire.pcap.analysis.summary import summarise, summarise_with_spark
from tests.support.captures.corpus import Corpus, build

RUNS = 3
WARM_UPS, JAVA_WARM_UPS = 1, 3
COLUMNS = (
    *("packet_index", "ts_ns", "src_address", "src_port", "dst_address", "dst_port", "type", "frame_length", "flags", "term_offset"),
    *("session_id", "stream_id", "term_id", "reserved_value", "length"),
    *("consumption_term_id", "consumption_term_offset", "receiver_window"),
)
OF_DATA = ("frame_length", "flags", "type", "term_offset", "session_id", "stream_id", "term_id", "reserved_value")
TSHARK_FIELDS = (
    *("frame.number", "frame.time_epoch", "ip.src", "udp.srcport", "ip.dst", "udp.dstport"),
    *(f"aeron.data.{name}" for name in OF_DATA),
    *("aeron.nak.length", "aeron.sm.consumption_term_id", "aeron.sm.consumption_term_offset", "aeron.sm.receiver_window"),
)
ANALYSIS_FIELDS = (
    *("aeron.sequence_analysis.retransmission", "aeron.sequence_analysis.nak_unrecovered", "aeron.stream_analysis.high_term_offset"),
    *("aeron.stream_analysis.completed_term_offset", "aeron.stream_analysis.outstanding_bytes"),
)
ANALYSIS_OPTIONS = ("-o", "aeron.sequence_analysis:TRUE", "-o", "aeron.stream_analysis:TRUE")


@dataclass(frozen=True)
class Bar:
    """How many times faster than another reader one must be, in bytes of capture a second."""

    reader: str
    other: str
    least: float


@dataclass(frozen=True)
class Result:
    """The best run of a reader."""

    seconds: float
    packets: int
    frames: int
    size: int

    @property
    def rate(self) -> float:
        """Bytes of capture a second."""
        return self.size / self.seconds


BARS = (
    Bar("core, ports given", "tshark", 40),
    Bar("core, ports given", "dpkt and struct", 30),
    Bar("core, ports given", "scapy", 450),
    Bar("core, flows detected", "tshark", 40),
    Bar("Spark local[2] to noop", "tshark", 25),
    Bar("Spark local[2] to Parquet", "tshark", 8),
    Bar("analysis, arrow", "tshark with its analysis", 20),
    Bar("analysis, Spark local[2]", "tshark with its analysis", 20),
)


def core(corpus: Corpus, ports: list[int] | None) -> int:
    """Read batch by batch, as a pipeline would."""
    return sum(batch.num_rows for batch in Capture(corpus.path, ports=ports, columns=COLUMNS).batches())


def tshark(corpus: Corpus, fields: tuple[str, ...], *options: str) -> int:
    command = ["tshark", "-n", "-r", str(corpus.path), "-Tfields", *options]
    for name in fields:
        command += ["-e", name]
    for port in corpus.ports:
        command += ["-d", f"udp.port=={port},aeron"]
    environment = os.environ | {"HOME": str(corpus.path.parent), "XDG_CONFIG_HOME": str(corpus.path.parent)}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return 0


def dpkt_and_struct(corpus: Corpus, dpkt: Any) -> int:
    """What a person writes in an afternoon: dpkt down to UDP, struct for the frames, a tuple a frame."""
    rows: list[tuple[Any, ...]] = []
    header, data, nak, status = struct.Struct("<iBBh"), struct.Struct("<iiiiq"), struct.Struct("<iiiii"), struct.Struct("<iiiii")
    with corpus.path.open("rb") as file:
        for number, (seconds, buffer) in enumerate(dpkt.pcap.Reader(file)):
            ip = dpkt.ethernet.Ethernet(buffer).data
            udp = ip.data
            payload, where, at = udp.data, (number, seconds, ip.src, udp.sport, ip.dst, udp.dport), 0
            while at < len(payload):
                length, _, flags, kind = header.unpack_from(payload, at)
                common = (*where, kind, length, flags)
                if kind in (0, 1):
                    offset, session, stream, term, reserved = data.unpack_from(payload, at + 8)
                    rows.append((*common, offset, session, stream, term, reserved, None, None, None, None))
                    at += max(32, (length + 31) & -32)
                    continue
                if kind == 2:
                    session, stream, term, offset, missing = nak.unpack_from(payload, at + 8)
                    rows.append((*common, offset, session, stream, term, None, missing, None, None, None))
                elif kind == 3:
                    session, stream, term, offset, window = status.unpack_from(payload, at + 8)
                    rows.append((*common, None, session, stream, None, None, None, term, offset, window))
                else:
                    rows.append((*common, *(None,) * 9))
                break
    return len(rows)


def scapy(corpus: Corpus) -> int:
    """The generated layers on scapy's reader."""
    from scapy.layers.inet import UDP
    from scapy.utils import PcapReader

    from aerowire.codecs.scapy.transport import aeron_frames

    rows: list[tuple[Any, ...]] = []
    with PcapReader(str(corpus.path)) as reader:
        for number, packet in enumerate(reader):
            udp = packet[UDP]
            ip = udp.underlayer
            for frame in aeron_frames(bytes(udp.payload)):
                where = (number, packet.time, ip.src, udp.sport, ip.dst, udp.dport)
                rows.append((*where, *(frame.getfieldval(name) if name in frame.fields else None for name in COLUMNS[6:])))
    return len(rows)


def spark_to(spark: Any, corpus: Corpus, target: Path | None) -> int:
    import pyarrow as pa  # type: ignore[import-untyped]

    from aerowire.pcap.arrays.spark_schema import schema_ddl
    from aerowire.pcap.table import SCHEMA

    schema = schema_ddl(pa.schema([SCHEMA.field(name) for name in COLUMNS]))
    ports = ",".join(map(str, corpus.ports))
    frames = spark.read.format("aeron_pcap").schema(schema).option("ports", ports).load(str(corpus.path)).write.mode("overwrite")
    if target is None:
        frames.format("noop").save()
    else:
        frames.parquet(str(target))
    return 0


def readers(large: Corpus, middle: Corpus, small: Corpus, spark: Callable[[], Any]) -> dict[str, tuple[Corpus, Callable[[], int] | str]]:
    """Return what each reader reads, and how; a text is why it cannot."""
    out: dict[str, tuple[Corpus, Callable[[], int] | str]] = {
        "core, ports given": (large, lambda: core(large, large.ports)),
        "core, flows detected": (large, lambda: core(large, None)),
        "tshark": (middle, lambda: tshark(middle, TSHARK_FIELDS)),
        "dpkt and struct": (middle, "dpkt is not installed"),
        "scapy": (small, lambda: scapy(small)),
        "Spark local[2] to noop": (large, lambda: spark_to(spark(), large, None)),
        "Spark local[2] to Parquet": (large, lambda: spark_to(spark(), large, large.path.parent / "parquet")),
        "analysis, arrow": (large, lambda: int(summarise(large.path, large.ports)["frames"])),
        "analysis, Spark local[2]": (large, lambda: int(summarise_with_spark(spark(), large.path, large.ports)["frames"])),
        "tshark with its analysis": (middle, lambda: tshark(middle, TSHARK_FIELDS + ANALYSIS_FIELDS, *ANALYSIS_OPTIONS)),
    }
    try:
        dpkt = importlib.import_module("dpkt")
    except ImportError:
        pass
    else:
        out["dpkt and struct"] = (middle, lambda: dpkt_and_struct(middle, dpkt))
    if shutil.which("tshark") is None:
        out |= dict.fromkeys(("tshark", "tshark with its analysis"), (middle, "tshark is not installed"))
    return out


def measure(corpus: Corpus, run: Callable[[], int], runs: int, warm_ups: int) -> Result:
    """Return the best of some runs after those that warm up."""
    frames = sum(one.count for (_, field), one in corpus.sums.items() if field == "type")
    times = []
    for _ in range(warm_ups + runs):
        started = time.perf_counter()
        found = run()
        times.append(time.perf_counter() - started)
        if found not in (0, frames):
            raise SystemExit(f"read {found} frames where the capture has {frames}")
    return Result(min(times[warm_ups:]), corpus.packets, frames, corpus.size)


def show(results: dict[str, Result]) -> bool:
    """Print the bars; return whether all that could be judged are met."""
    good = True
    print(f"\n{'reader':28} {'than':26} {'times':>8} {'bar':>6}")
    for bar in BARS:
        if bar.reader in results and bar.other in results:
            ratio = results[bar.reader].rate / results[bar.other].rate
            good &= ratio >= bar.least
            print(f"{bar.reader:28} {bar.other:26} {ratio:8.1f} {bar.least:6.0f} {'met' if ratio >= bar.least else 'MISSED'}")
    return good


def profile(corpus: Corpus) -> None:
    """Print where the core spends its time."""
    core(corpus, corpus.ports)
    profiler = cProfile.Profile()
    profiler.runcall(core, corpus, corpus.ports)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=2_000_000, help="of the capture that the fast ones read (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=RUNS, help="of which the best counts (default: %(default)s)")
    parser.add_argument("--only", nargs="*", default=[""], metavar="WORD", help="readers whose names have one of these words")
    parser.add_argument("--profile", action="store_true", help="only say where the core's time goes")
    arguments = parser.parse_args()
    sessions: list[Any] = []

    def spark() -> Any:
        if not sessions:
            from aerowire.pcap.spark import session

            sessions.append(session("pcap_compare", master="local[2]"))
        return sessions[0]

    with tempfile.TemporaryDirectory() as folder:
        large = build(Path(folder) / "large.pcap", arguments.packets)
        if arguments.profile:
            profile(large)
            return 0
        middle = build(Path(folder) / "middle.pcap", min(200_000, arguments.packets))
        small = build(Path(folder) / "small.pcap", min(20_000, arguments.packets))
        results = {}
        print(f"{'reader':28} {'packets':>9} {'seconds':>8} {'packets/s':>11} {'frames/s':>11} {'MB/s':>8}")
        for name, (corpus, run) in readers(large, middle, small, spark).items():
            if isinstance(run, str):
                print(f"{name:28} {run}")
            elif any(word in name for word in arguments.only):
                one = results[name] = measure(corpus, run, arguments.runs, JAVA_WARM_UPS if "Spark" in name else WARM_UPS)
                rates = f"{one.packets / one.seconds:11,.0f} {one.frames / one.seconds:11,.0f} {one.rate / 1e6:8.1f}"
                print(f"{name:28} {one.packets:9,} {one.seconds:8.2f} {rates}", flush=True)
        for session in sessions:
            session.stop()
    return 0 if show(results) else 1


if __name__ == "__main__":
    sys.exit(main())
