"""Services of the clusters that are measured: those of java/ClusterMember.java, in Python.

Each event that a benchmark waits for is a line of JSON on standard output.
"""

from __future__ import annotations

import json
import time
from typing import Any

from aerowire.client.publications.publication import ADMIN_ACTION, BACK_PRESSURED
from aerowire.cluster.services import ClientSession, Cluster, ClusteredService, MessageBatch


class Echo(ClusteredService):
    """Answers each message with itself, as soon as there is room for the answer."""

    def on_start(self, cluster: Cluster, _snapshot_image: object) -> None:
        self._cluster = cluster

    def on_session_message(self, session: ClientSession | None, message: bytes, _at: int) -> None:
        if session is not None:
            while session.offer(message) in {BACK_PRESSURED, ADMIN_ACTION}:
                self._cluster.idle_strategy.idle()


class Counter(ClusteredService):
    """Counts messages and their bytes. From the opening of a session to an empty message it measures the time that they take."""

    def __init__(self) -> None:
        self.count = self.bytes = 0
        self._begin = self._begin_processor = 0.0

    def on_session_open(self, _session: ClientSession, _at: int) -> None:
        self._begin, self._begin_processor = time.perf_counter(), time.process_time()

    def on_session_message(self, _session: ClientSession | None, message: bytes, _at: int) -> None:
        self.count += 1
        self.bytes += len(message)
        if not message:
            self.tell_replayed()

    def tell_replayed(self) -> None:
        """Write what has come, in which time, and the processor time of the whole process in it."""
        seconds, processor_seconds = time.perf_counter() - self._begin, time.process_time() - self._begin_processor
        tell("replayed", messages=self.count, bytes=self.bytes, seconds=seconds, processor_seconds=processor_seconds)

    def snapshot_state(self) -> dict[str, int]:
        return {"count": self.count, "bytes": self.bytes}

    def restore_state(self, state: dict[str, int]) -> None:
        self.count, self.bytes = state["count"], state["bytes"]
        tell("restored", messages=self.count)


class BatchCounter(Counter):
    """Counts by batches."""

    def on_batch(self, batch: MessageBatch) -> None:
        lengths = batch.lengths
        self.count += len(batch)
        self.bytes += int(lengths.sum())
        if not lengths[-1]:
            self.tell_replayed()


def tell(event: str, **fields: Any) -> None:
    """Write an event to standard output."""
    print(json.dumps({"event": event, **fields}), flush=True)
