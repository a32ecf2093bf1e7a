"""How fast a native agent reads a lent image, beside `poll_many` and a copy of memory: each takes the same log of an IPC stream.

    python -m benchmarks.native_reader [--rounds N]

The agent counts blocks as read and does nothing else with them. One round fills the window and lets each take it, in turn; the medians of
all rounds are shown, and 1 is returned when a bar is missed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from aerowire.agents.command_queue import AgentCommand
from aerowire.base.runner import AgentInvoker
from aerowire.client import Aeron
from aerowire.client.lending.lent_image import LentImage
from aerowire.driver import Context, MediaDriver
from aerowire.system.clock import SystemClock
from tests.support.native_modules import compiled

RELAY = Path(__file__).resolve().parent.parent / "tests" / "client" / "lending" / "relay.pyx"
CHANNEL = "aeron:ipc?term-length=64m"
WINDOW = 32 << 20
HEADER = 32
# Of what poll_many takes of 32-byte messages, and of what memcpy copies of messages of 1 KB.
BARS = {32: 1.0, 1024: 0.7}
BATCH = 8192


class Streams:
    """A stream with two subscribers in one process: one polls, the other's image is lent to a native agent."""

    def __init__(self, directory: str, relay: Any) -> None:
        self.driver = MediaDriver.launch(Context(aeron_dir=directory, threading_mode="SHARED"))
        self.client = Aeron.connect(aeron_dir=directory)
        self.polling, self.lending = (self.client.add_subscription(CHANNEL, 1) for _ in range(2))
        self.publication = self.client.add_exclusive_publication(CHANNEL, 1)
        while not (self.polling.images and self.lending.images and self.publication.is_connected):
            time.sleep(0.001)
        self.agent = relay.Relay(relay.RelayRing())
        self.invoker = AgentInvoker([self.agent], SystemClock())
        self.invoker.start()
        self.loan = LentImage(self.lending.images[0])
        self.agent.put(AgentCommand(relay.TAKE_IMAGE, self.loan, hold=True))

    def fill(self, length: int) -> int:
        """Fill most of the window with messages; return how many."""
        messages = np.zeros((BATCH, length), dtype=np.uint8)
        sent = 0
        # The limit moves only when it has an eighth of the window to go, so as much may be missing.
        while sent * (HEADER + length) < WINDOW - WINDOW // 8 - BATCH * (HEADER + length):
            sent += max(0, self.publication.offer_many(messages))
        return sent

    def poll(self, count: int) -> None:
        while count > 0:
            count -= len(self.polling.poll_many(BATCH))

    def read(self, count: int, length: int) -> None:
        end = self.agent.bytes_read + count * (HEADER + length)
        while self.agent.bytes_read < end:
            self.invoker.invoke()

    def close(self) -> None:
        self.client.close()
        self.driver.close()


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(streams: Streams, length: int, rounds: int) -> dict[str, float]:
    """Return millions of messages a second by who takes them, the median of all rounds."""
    found: dict[str, list[float]] = {"poll_many": [], "native": [], "memcpy": []}
    for _ in range(rounds):
        count = streams.fill(length)
        source = np.zeros(count * (HEADER + length), dtype=np.uint8)
        target = np.ones_like(source)
        found["memcpy"].append(count / seconds(lambda target=target, source=source: np.copyto(target, source)))  # type: ignore[misc]
        found["poll_many"].append(count / seconds(lambda count=count: streams.poll(count)))  # type: ignore[misc]
        found["native"].append(count / seconds(lambda count=count: streams.read(count, length)))  # type: ignore[misc]
    return {name: statistics.median(rates) / 1e6 for name, rates in found.items()}


def main() -> int:
    """Print a line for each length; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each length (default: 15)")
    chosen = parser.parse_args()
    missed = False
    with tempfile.TemporaryDirectory(prefix="aerowire-native-reader-", dir="/dev/shm") as directory:
        streams = Streams(f"{directory}/driver", compiled(RELAY))
        try:
            for length, bar in BARS.items():
                rates = measure(streams, length, chosen.rounds)
                other = "poll_many" if length == min(BARS) else "memcpy"
                ratio = rates["native"] / rates[other]
                missed |= ratio < bar
                told = ", ".join(f"{name} {rate:.1f}" for name, rate in rates.items())
                print(f"{length:5} bytes: {told} M messages a second; native reader {ratio:.2f} x {other} (bar: {bar})")
        finally:
            streams.close()
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
