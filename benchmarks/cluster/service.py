"""What a message costs a service of a cluster, beside taking it from the same stream without a cluster, in one process with one thread.

    python -m benchmarks.cluster.service [--rounds N]

A log of session messages of 100 bytes lies in a stream and is committed before the clock starts. A service by message is compared with
`poll` and a handler, a service by batch with `poll_many`. Each round takes all ways in turn, each from a stream of its own that is written
just before; the best of all rounds is shown. Bars: by message at most 3 times `poll`, by batch at most 3 times `poll_many`. Returns 1 when
one is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aerowire.client import Aeron, ExclusivePublication, Header, Image
from aerowire.cluster.services import ClientSession, ClusteredService, ClusteredServiceContainer, MessageBatch
from aerowire.codecs.flyweights.cluster.enums import BooleanType
from aerowire.codecs.flyweights.cluster.messages.join_log import JoinLog
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader
from aerowire.codecs.flyweights.cluster.messages.session_open_event import SessionOpenEvent
from aerowire.codecs.flyweights.cnc import ClusterCounterKeyEncoder, ClusterRole, RecoveryStateKeyEncoder
from aerowire.codecs.tables.counters import CounterType
from aerowire.driver import MediaDriver
from benchmarks.bars import judge

COUNT = 10_000
PAYLOAD = bytes(100)
CHANNEL, LOG_STREAM_ID, PLAIN_STREAM_ID, MANY_STREAM_ID = "aeron:ipc?term-length=16m", 100, 1001, 1002
CONTROL = "aeron:ipc?term-length=128k"
# As many as a duty cycle of a container takes.
FRAGMENT_LIMIT, BATCH_LIMIT = 50, 1024
SESSION_HEADER_LENGTH = 32
MOST = 3.0


class ByMessage(ClusteredService):
    """Counts messages one by one."""

    def __init__(self) -> None:
        self.count = 0

    def on_session_message(self, _session: ClientSession | None, _message: bytes, _at: int) -> None:
        self.count += 1


class ByBatch(ByMessage):
    """Counts messages by batches, and looks at their lengths."""

    def on_batch(self, batch: MessageBatch) -> None:
        self.count += len(batch)
        assert int(batch.lengths[-1]) == len(PAYLOAD)


class Node:
    """A driver, what a container needs of a consensus module, and two containers on one log: a follower's, which answers no client."""

    def __init__(self, directory: Path) -> None:
        self.driver = MediaDriver.launch_embedded(
            threading_mode="INVOKER", client_liveness_timeout_ns="60s", publication_unblock_timeout_ns="61s"
        )
        self.aeron = Aeron.connect(self.driver.aeron_dir, use_conductor_agent_invoker=True, driver_agent_invoker=self.driver.invoker)
        self.control = self.aeron.add_publication(CONTROL, 104)
        self.from_services = self.aeron.add_subscription(CONTROL, 105)
        self.commit_position = self.aeron.add_counter(
            CounterType.CLUSTER_COMMIT_POSITION, key=ClusterCounterKeyEncoder.encode(cluster_id=0)
        )
        key = RecoveryStateKeyEncoder.encode(leadership_term_id=-1, cluster_id=0)
        self.recovery = self.aeron.add_counter(CounterType.CLUSTER_RECOVERY_STATE, key=key)
        self.log = self.aeron.add_exclusive_publication(CHANNEL, LOG_STREAM_ID)
        self.services: list[ByMessage] = [ByMessage(), ByBatch()]
        self.containers = [self._launch(directory, service_id) for service_id in range(2)]
        join = JoinLog(
            log_position=0,
            max_log_position=1 << 40,
            member_id=0,
            log_session_id=self.log.session_id,
            log_stream_id=LOG_STREAM_ID,
            is_startup=BooleanType.TRUE,
            role=ClusterRole.FOLLOWER,
            log_channel=CHANNEL,
        )
        self.run(lambda: self.control.offer(join.encode()) > 0)
        self.run(lambda: all(container.agent.log.image is not None for container in self.containers))
        session = SessionOpenEvent(
            leadership_term_id=0, correlation_id=1, cluster_session_id=1, timestamp=0, response_stream_id=1, response_channel="aeron:ipc"
        )
        self.log.offer(session.encode())
        self.commit_position.value = self.log.position
        self.run(lambda: all(container.cluster.client_sessions for container in self.containers))

    def _launch(self, directory: Path, service_id: int) -> ClusteredServiceContainer:
        return ClusteredServiceContainer.launch(
            self.services[service_id],
            aeron_dir=self.driver.aeron_dir,
            cluster_dir=str(directory),
            service_id=service_id,
            log_fragment_limit=FRAGMENT_LIMIT,
            batch_limit=BATCH_LIMIT,
            use_agent_invoker=True,
            agent_invokers=(self.driver.invoker,),
        )

    def image(self, stream_id: int) -> tuple[ExclusivePublication, Image]:
        """Open a stream beside the log; return both ends."""
        subscription = self.aeron.add_subscription(CHANNEL, stream_id)
        publication = self.aeron.add_exclusive_publication(CHANNEL, stream_id)
        self.run(lambda: subscription.images)
        return publication, subscription.images[0]

    def run(self, until: Callable[[], object]) -> None:
        while not until():
            self.driver.invoker.invoke()
            self.aeron.invoke()
            self.from_services.poll_many(10)
            for container in self.containers:
                container.invoker.invoke()

    def fill(self, publication: ExclusivePublication) -> None:
        """Append COUNT messages."""
        for number in range(COUNT):
            message = SessionMessageHeader(leadership_term_id=0, cluster_session_id=1, timestamp=number >> 6).encode() + PAYLOAD
            while publication.offer(message) < 0:
                self.driver.invoker.invoke()

    def serve(self, service_id: int) -> None:
        """Let a service take COUNT messages."""
        service, invoke = self.services[service_id], self.containers[service_id].invoker.invoke
        end = service.count + COUNT
        while service.count < end:
            invoke()

    def close(self) -> None:
        for container in self.containers:
            container.close()
        self.aeron.close()
        self.driver.close()


def by_poll(image: Image) -> None:
    taken = 0

    def handler(buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        nonlocal taken
        _message = bytes(buffer[offset + SESSION_HEADER_LENGTH : offset + length])
        taken += 1

    while taken < COUNT:
        image.poll(handler, FRAGMENT_LIMIT)


def by_plain_poll(image: Image) -> None:
    taken = 0

    def handler(_buffer: memoryview, _offset: int, _length: int, _header: Header) -> None:
        nonlocal taken
        taken += 1

    while taken < COUNT:
        image.poll(handler, FRAGMENT_LIMIT)


def by_poll_many(image: Image) -> None:
    taken = 0
    while taken < COUNT:
        taken += len(image.poll_many(BATCH_LIMIT))


def measure(rounds: int) -> dict[str, list[float]]:
    """Return the ns that a message took in each round, by the way of taking it."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as directory:
        node = Node(Path(directory))
        streams = {way: node.image(PLAIN_STREAM_ID + index) for index, way in enumerate((by_plain_poll, by_poll, by_poll_many))}

        def timed(name: str, take: Callable[[], Any]) -> None:
            started = time.perf_counter_ns()
            take()
            found.setdefault(name, []).append((time.perf_counter_ns() - started) / COUNT)

        for number in range(rounds + 1):
            if number == 1:
                found.clear()  # the first round warms up
            for way, (publication, image) in streams.items():
                node.fill(publication)
                timed(way.__name__, lambda way=way, image=image: way(image))  # type: ignore[misc]
            node.fill(node.log)
            node.commit_position.value = node.log.position
            order = (0, 1) if number % 2 else (1, 0)
            for service_id in order:
                timed(type(node.services[service_id]).__name__, lambda service_id=service_id: node.serve(service_id))  # type: ignore[misc]
        node.close()
    return found


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50, help="rounds of which the best counts (default: 50)")
    best = {name: min(values) for name, values in measure(parser.parse_args().rounds).items()}
    print(f"poll with a handler that copies {best['by_poll']:.1f} ns, without copies {best['by_plain_poll']:.1f} ns")
    reached = True
    for name, label, way, other in (
        ("ByMessage", "by message", "by_plain_poll", "poll with a handler"),
        ("ByBatch", "by batch", "by_poll_many", "poll_many"),
    ):
        text = f"a service {label} {best[name]:.1f} ns, {other} {best[way]:.1f} ns"
        reached &= judge(text, best[name] / best[way], most=MOST)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
