"""Record what a driver sends and receives under 5 % induced loss, and read the recovery back as a table.

    python examples/capture_and_read.py [COUNT]

The driver writes the capture itself, without privileges; induced losses are marked in it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import pyarrow.compute as pc  # type: ignore[import-untyped]

from aerowire.client import Aeron, Header
from aerowire.driver import MediaDriver
from aerowire.pcap import read_frames

CHANNEL, STREAM = "aeron:udp?endpoint=127.0.0.1:0", 1001
FRAGMENT_LIMIT = 10
TIMEOUT_S = 30.0


def record(path: Path, count: int) -> None:
    """Send `count` messages through a driver that loses one datagram in twenty and captures all of them."""
    received: list[int] = []

    def on_message(buffer: memoryview, offset: int, length: int, header: Header) -> None:
        del buffer, offset, header
        received.append(length)

    with (
        MediaDriver.launch_embedded(capture=str(path), debug_send_data_loss_rate=0.05, debug_send_data_loss_seed=7) as driver,
        Aeron.connect(aeron_dir=driver.aeron_dir) as aeron,
        aeron.add_subscription(CHANNEL, STREAM) as subscription,
        aeron.add_publication(f"aeron:udp?endpoint={subscription.resolved_endpoint}", STREAM) as publication,
    ):
        deadline, sent = time.monotonic() + TIMEOUT_S, 0
        while len(received) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(received)} of {count} messages within {TIMEOUT_S} s")
            if sent < count and publication.offer(b"x" * 1000) >= 0:
                sent += 1
            subscription.poll(on_message, FRAGMENT_LIMIT)


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "traffic.pcapng"
        record(path, count)
        frames = read_frames(str(path))
    for row in frames.group_by(["type", "interface"], use_threads=False).aggregate([([], "count_all")]).sort_by("type").to_pylist():
        print(f"{row['type']:>6} {row['interface']:>16} {row['count_all']:>8}")
    asked = frames.filter(pc.and_(pc.equal(frames["type"], "NAK"), pc.equal(frames["interface"], "sent")))
    print(f"{len(asked)} NAKs, {pc.sum(frames['dropped']).as_py()} frames lost on purpose")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
