"""Our client of a cluster with an echo service, in a process of its own: the counterpart of java/ClusterLoad.java.

    python -m benchmarks.cluster.load AERON_DIR INGRESS_ENDPOINTS LENGTH WARMUP ROUND_TRIPS MESSAGES IN_FLIGHT

Prints one JSON object: p50 and p99 of round trips with one message in flight, then messages a second with many. A client that waits yields.
"""

from __future__ import annotations

import json
import sys
import time

from aerowire.client import Header
from aerowire.cluster import AeronCluster


class Load:
    """A session that counts the messages that come."""

    def __init__(self, aeron_dir: str, ingress_endpoints: str, length: int) -> None:
        self._message = bytes(length)
        self._received = 0
        self.cluster = AeronCluster.connect(
            aeron_dir=aeron_dir,
            ingress_channel="aeron:udp",
            ingress_endpoints=ingress_endpoints,
            egress_channel="aeron:udp?endpoint=127.0.0.1:0",
            egress_listener=self._on_message,
            message_timeout_ns="60s",
        )

    def round_trips(self, count: int) -> list[int]:
        """Send one message after another, each once that before was answered; return the nanoseconds of each, sorted."""
        samples = []
        for _ in range(count):
            begin, target = time.perf_counter_ns(), self._received + 1
            while self.cluster.offer(self._message) < 0:
                self._poll()
            while self._received < target:
                self._poll()
            samples.append(time.perf_counter_ns() - begin)
        return sorted(samples)

    def throughput(self, messages: int, in_flight: int) -> float:
        """Send messages, of which so many may wait for their answers; return how many a second were answered."""
        batch = [self._message] * in_flight
        begin, first, sent = time.perf_counter(), self._received, 0
        while (received := self._received - first) < messages:
            room = min(messages, received + in_flight) - sent
            if room > 0:
                sent += max(self.cluster.offer_many(batch[:room]), 0)
            self._poll()
        return messages / (time.perf_counter() - begin)

    def _poll(self) -> None:
        if self.cluster.poll_egress() == 0:
            if self.cluster.is_closed:
                raise RuntimeError(f"the session has ended: {self.cluster.close_reason}")
            time.sleep(0)

    def _on_message(self, _session_id: int, _timestamp: int, _buffer: memoryview, _offset: int, _length: int, _header: Header, /) -> None:
        self._received += 1


def main() -> None:
    """Measure, and print what was found."""
    aeron_dir, ingress_endpoints, *numbers = sys.argv[1:]
    length, warmup, round_trips, messages, in_flight = map(int, numbers)
    load = Load(aeron_dir, ingress_endpoints, length)
    with load.cluster:
        load.round_trips(warmup)
        samples = load.round_trips(round_trips)
        load.throughput(messages, in_flight)
        found = {
            "p50_us": samples[len(samples) // 2] / 1e3,
            "p99_us": samples[round((len(samples) - 1) * 0.99)] / 1e3,
            "messages_per_s": load.throughput(messages, in_flight),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
