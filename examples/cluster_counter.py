"""A service that counts words, on a cluster: of one member in this process, or of members that run already.

    python examples/cluster_counter.py [COUNT]
    python examples/cluster_counter.py COUNT ENDPOINTS AERON_DIR

    aerowire cluster start --member-id 0 --members "$MEMBERS" --service cluster_counter:Counter --node-dir node0

ENDPOINTS are those of the members' ingress, such as 0=localhost:9000,1=localhost:9100,2=localhost:9200; AERON_DIR is the directory of a
driver of this machine. Each member applies the same messages in the same order, so each of them has the same counts.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter as Counts
from pathlib import Path
from typing import Any

from aerowire.base.directory import random_aeron_dir
from aerowire.cluster import AeronCluster, EgressListener
from aerowire.cluster.services import ClientSession, Cluster, ClusteredService
from aerowire.driver import Context
from aerowire.nodes import ClusteredMediaDriver

WORDS = ("to", "be", "or", "not", "to", "be")
ANY_PORT = "aeron:udp?endpoint=localhost:0"
TIMEOUT_S = 30.0
ATTEMPTS_MAX = 1_000


class Counter(ClusteredService):
    """Counts words, and answers each with how often it has come. Its snapshot is its state as an object."""

    def __init__(self) -> None:
        self._counts: Counts[str] = Counts()

    def on_start(self, cluster: Cluster, _snapshot_image: object) -> None:
        self._cluster = cluster

    def on_session_message(self, session: ClientSession | None, message: bytes, _at: int) -> None:
        word = message.decode()
        self._counts[word] += 1
        answer = f"{word} {self._counts[word]}".encode()
        # A client that does not read must not keep the service from others: it misses answers, and its session is closed in time.
        for _ in range(ATTEMPTS_MAX):
            if session is None or session.offer(answer) > 0:
                return
            self._cluster.idle_strategy.idle()

    def snapshot_state(self) -> dict[str, int]:
        return dict(self._counts)

    def restore_state(self, state: dict[str, int]) -> None:
        self._counts = Counts(state)


class Answers(EgressListener):
    """Keeps the answers of the service."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def on_message(self, _session_id: int, _timestamp: int, buffer: memoryview, offset: int, length: int, _header: object, /) -> None:
        self.texts.append(bytes(buffer[offset : offset + length]).decode())


def ask(count: int, **options: Any) -> None:
    """Send words in a session with a cluster, and print the answers. Raises TimeoutError."""
    answers = Answers()
    deadline = time.monotonic() + TIMEOUT_S
    with AeronCluster.connect(egress_listener=answers, message_timeout_ns=f"{TIMEOUT_S:.0f}s", **options) as cluster:
        sent = 0
        while len(answers.texts) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(answers.texts)} of {count} answers within {TIMEOUT_S} s")
            if sent < count and cluster.offer(WORDS[sent % len(WORDS)].encode()) >= 0:
                sent += 1
            cluster.poll_egress()
        print(f"member {cluster.leader_member_id} leads; {', '.join(answers.texts[-len(WORDS) :])}")
        print(f"{count} words, the last answer: {answers.texts[-1]}")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    if len(sys.argv) > 3:
        ask(count, aeron_dir=sys.argv[3], ingress_channel="aeron:udp", ingress_endpoints=sys.argv[2], egress_channel=ANY_PORT)
        return
    with (
        tempfile.TemporaryDirectory() as directory,
        ClusteredMediaDriver.launch(
            Context(aeron_dir=random_aeron_dir(), dir_delete_on_shutdown=True, threading_mode="SHARED"),
            archive={
                "archive_dir": Path(directory, "archive"),
                "control_channel_enabled": False,
                "replication_channel": ANY_PORT,
                "segment_file_length": "1m",
                "low_storage_space_threshold": 0,
            },
            cluster={
                "cluster_dir": str(Path(directory, "cluster")),
                "cluster_members": f"0{',localhost:0' * 5}",
                "ingress_channel": "aeron:ipc?term-length=64k",
                "ingress_ipc_allowed": True,
                "log_channel": "aeron:ipc?term-length=1m",
                "replication_channel": ANY_PORT,
            },
            services=[Counter],
        ) as node,
    ):
        ask(count, aeron_dir=node.aeron_dir, ingress_channel="aeron:ipc?term-length=64k", egress_channel="aeron:ipc?term-length=64k")


if __name__ == "__main__":
    main()
