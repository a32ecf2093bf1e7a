"""A client that sends numbers to a cluster in their order, over many sessions, and knows which of them were answered."""

from __future__ import annotations

import time
from pathlib import Path

from aerowire.client import Header
from aerowire.cluster import ClusterClientContext, EgressListener, InDoubt, ReconnectingCluster
from tests.interop.cluster.nodes import Cluster
from tests.interop.cluster.talk import encoded, numbers
from tests.support.waiting import rest

INTERVAL_S = 0.005
IN_FLIGHT_MAX = 32
# Members that are asked for a session may die before they answer.
CONNECT_S = "5s"
RUNS = b"runs"


class NumberClient(EgressListener):
    """Sends the next number every few milliseconds. Changed by `work`.

    A number is sent once: one whose leader is lost before it answers may be applied or not. Invariant: what is in `answered` is applied.
    """

    def __init__(self, cluster: Cluster, aeron_dir: Path) -> None:
        """Begin to connect to a cluster by a driver."""
        self.answered: set[int] = set()
        self.sent = 0
        self.in_doubt = 0
        self.is_sending = True
        self.longest_silence_s = 0.0
        self._is_told = False
        self._next_s = 0.0
        self._last_answer_s = time.monotonic()
        context = ClusterClientContext(**cluster.options(aeron_dir=aeron_dir, egress_listener=self, message_timeout_ns=CONNECT_S))
        self.client = ReconnectingCluster(context, on_in_doubt=self._on_in_doubt)

    def work(self) -> None:
        """Read answers, keep the session, and send a number if it is time for one; rest if there is nothing to read."""
        if self.client.poll() == 0:
            rest()
        now_s = time.monotonic()
        is_due = self.is_sending and now_s >= self._next_s and len(self.client.in_flight) < IN_FLIGHT_MAX
        if is_due and self.client.request(self.sent, encoded(self.sent)) > 0:
            self.sent += 1
            self._next_s = now_s + INTERVAL_S

    @property
    def is_idle(self) -> bool:
        """Whether no number waits for its answer."""
        return not self.client.in_flight

    def ask_for_runs(self) -> bool:
        """Have the service at each member write its numbers to standard output; return whether the message was answered."""
        if not self._is_told and RUNS not in self.client.in_flight:
            self.client.request(RUNS, RUNS)
        return self._is_told

    def close(self) -> None:
        """Close the session."""
        self.client.close()

    def on_message(self, _session_id: int, _timestamp: int, buffer: memoryview, offset: int, length: int, _header: Header, /) -> None:
        message = bytes(buffer[offset : offset + length])
        if message == RUNS:
            self._is_told = True
            self.client.answered(RUNS)
        elif length == len(encoded(0)):
            (number,) = numbers(message)
            self.answered.add(number)
            self.client.answered(number)
            now_s = time.monotonic()
            self.longest_silence_s = max(self.longest_silence_s, now_s - self._last_answer_s)
            self._last_answer_s = now_s

    def _on_in_doubt(self, lost: tuple[InDoubt, ...]) -> None:
        for request in lost:
            self.in_doubt += 1
            self.client.answered(request.key)
