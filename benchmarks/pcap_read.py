"""How fast captures are read: `python benchmarks/pcap_read.py [--megabytes 200] [--json]`.

Writes a classic capture of DATA frames of mixed sizes, some batched in one datagram, with status messages, setups and NAKs between them,
and reads it in several ways. Beside the elapsed time stands the processor time, which other work on the machine disturbs less.
The Python chain walk is measured beside the native one, because an installation that comes as a plain zip has only that.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataHeaderEncoder, NakEncoder, SetupEncoder, StatusMessageEncoder
from aerowire.pcap import Capture
from aerowire.pcap.files import chain_fallback, walk

SEED = 1
TEMPLATE_PACKETS = 8192
SENDER, RECEIVER = ("10.0.0.1", 40001), ("10.0.0.2", 40002)
Endpoint = tuple[str, int]


def packet(payload: bytes, source: Endpoint, destination: Endpoint) -> bytes:
    """Return an Ethernet packet around a datagram."""
    udp = struct.pack(">HHHH", source[1], destination[1], 8 + len(payload), 0)
    addresses = b"".join(bytes(int(part) for part in end[0].split(".")) for end in (source, destination))
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0) + addresses
    return bytes(12) + b"\x08\x00" + ip + udp + payload


def template(rng: random.Random) -> bytes:
    """Return the records of some packets of one stream."""
    out, offset = bytearray(), 0
    for number in range(TEMPLATE_PACKETS):
        kind = rng.random()
        if kind < 0.02:
            data = packet(
                StatusMessageEncoder.encode(session_id=7, stream_id=1001, receiver_window=131072, receiver_id=5), RECEIVER, SENDER
            )
        elif kind < 0.03:
            data = packet(NakEncoder.encode(session_id=7, stream_id=1001, term_offset=offset, length=1408), RECEIVER, SENDER)
        elif kind < 0.031:
            data = packet(SetupEncoder.encode(session_id=7, stream_id=1001, term_length=1 << 26, mtu=1408), SENDER, RECEIVER)
        else:
            payload = bytearray()
            for _ in range(1 if rng.random() < 0.9 else 4):
                body = rng.randbytes(rng.randint(32, 300))
                frame = DataHeaderEncoder.encode(session_id=7, stream_id=1001, term_offset=offset, payload=body)
                frame = frame + bytes(-len(frame) % FRAME_ALIGNMENT)
                payload += frame
                offset += len(frame)
            data = packet(bytes(payload), SENDER, RECEIVER)
        out += struct.pack("<IIII", 1_700_000_000, number, len(data), len(data)) + data
    return bytes(out)


def write_capture(path: Path, megabytes: int) -> None:
    records = template(random.Random(SEED))
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for _ in range(max(1, megabytes * 1_000_000 // len(records))):
            file.write(records)


def measure(name: str, size: int, run: Callable[[], int], repeats: int) -> dict[str, object]:
    times, core_times, count = [], [], 0
    for _ in range(repeats):
        started, core_started = time.perf_counter(), time.process_time()
        count = run()
        times.append(time.perf_counter() - started)
        core_times.append(time.process_time() - core_started)
    elapsed = statistics.median(times)
    return {
        "reader": name,
        "seconds": round(elapsed, 3),
        "mb_per_s": round(size / 1e6 / elapsed, 1),
        "mb_per_core_s": round(size / 1e6 / statistics.median(core_times), 1),
        "rows": count,
        "rows_per_s": round(count / elapsed),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "benchmark.pcap"
        write_capture(path, arguments.megabytes)
        size = path.stat().st_size
        buffer = np.fromfile(path, dtype=np.uint8)
        few = ["type", "session_id", "stream_id", "term_id", "term_offset", "frame_length", "ts_ns"]
        readers: dict[str, Callable[[], int]] = {
            "chain walk alone": lambda: int(walk.read_records(buffer, 24, buffer.size, True, 262144)[0].size),
            "chain walk alone, in Python": lambda: int(chain_fallback.read_records(buffer, 24, buffer.size, True, 262144)[0].size),
            "frames, ports given": lambda: int(Capture(path, ports=[RECEIVER[1]]).read().num_rows),
            "frames, flows detected": lambda: int(Capture(path).read().num_rows),
            "frames, 7 columns": lambda: int(Capture(path, columns=few).read().num_rows),
            "frames with payload": lambda: int(Capture(path, payload=True).read().num_rows),
            "scan of flows alone": lambda: len(Capture(path).survey().keys),
        }
        results = [measure(name, size, run, arguments.repeats) for name, run in readers.items()]
    for result in results:
        print(
            json.dumps(result)
            if arguments.json
            else "{reader:32} {seconds:8} s {mb_per_s:9} MB/s {mb_per_core_s:9} MB/core-s {rows:10} rows {rows_per_s:12} rows/s".format(
                **result
            )
        )


if __name__ == "__main__":
    main()
