"""The model is honest: the same workload, with the same share of packets lost, between two drivers on loopback and in a simulated world."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from aerowire.client import Aeron, ExclusivePublication, FragmentAssembler, Subscription
from aerowire.codecs.flyweights.transport import DataFlags
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver import MediaDriver
from aerowire.pcap import read_frames
from aerowire.simulation import SECOND, PacketCapture, SimulatedWorld
from tests.support.waiting import wait_until

LOSS = 0.05
LENGTH_MAX = 3_000  # more than a packet holds: some messages are sent in parts
STREAM = 1001
TERM = "term-length=64k"  # some tens of terms, each with padding at its end
IDLE_NS = SECOND // 2  # several heartbeats
OPTIONS: dict[str, Any] = {
    "environ": {},
    "term_buffer_length": "64k",
    "timer_interval_ns": "100ms",
    "publication_linger_timeout_ns": "500ms",
}
# Only a driver that measures round trips sends frames that do.
MEASURING: dict[str, Any] = {"cubic_congestion_control_measure_rtt": True}
# What a real driver loses on purpose, of data and control frames that it sends; its capture has them as well. In the world links lose them.
ON_PURPOSE: dict[str, Any] = {
    f"debug_{lane}_loss_{what}": value for lane in ("send_data", "receive_control") for what, value in (("rate", LOSS), ("seed", 7))
}
ALWAYS = {"SETUP", "message", "part of a message", "padding", "heartbeat", "end of stream", "sent again", "NAK", "SM"}


def kinds_of(*captures: Path) -> set[str]:
    """Return the kinds of frames that drivers sent and received."""
    return {kind for capture in captures for frame in read_frames(str(capture)).to_pylist() for kind in kinds(frame)}


def kinds(frame: dict[str, Any]) -> Iterator[str]:
    if frame["type"] not in ("DATA", "PAD"):
        yield frame["type"]
        return
    if frame["is_heartbeat"]:
        yield "end of stream" if frame["flags"] & DataFlags.EOS else "heartbeat"
        return
    if frame["is_retransmission"]:
        yield "sent again"
    yield (
        "padding"
        if frame["type"] == "PAD"
        else "message"
        if frame["flags"] & DataFlags.UNFRAGMENTED == DataFlags.UNFRAGMENTED
        else "part of a message"
    )


class Traffic:
    """Offers the messages one after the other, and digests what arrives."""

    def __init__(self, publication: ExclusivePublication, subscription: Subscription, sent: Sequence[bytes]) -> None:
        self.received = 0
        self._count = len(sent)
        self._publication = publication
        self._subscription = subscription
        self._messages = iter(sent)
        self._next: bytes | None = next(self._messages)
        self._digest = hashlib.sha256()
        self._assembler = FragmentAssembler(self._on_message)

    @property
    def is_done(self) -> bool:
        return self.received == self._count

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def work(self) -> int:
        done = self._subscription.poll(self._assembler, 64)
        while self._next is not None and self._publication.offer(self._next) > 0:
            self._next = next(self._messages, None)
            done += 1
        return done

    def _on_message(self, buffer: memoryview, offset: int, length: int, _header: object) -> None:
        self.received += 1
        self._digest.update(length.to_bytes(4, "little") + buffer[offset : offset + length])


def on_loopback(folder: Path, sent: Sequence[bytes], congestion: str) -> tuple[str, set[str]]:
    captures = [folder / "sender.pcapng", folder / "receiver.pcapng"]
    with ExitStack() as stack:
        clients = []
        for capture in captures:
            options = {**OPTIONS, **MEASURING, **ON_PURPOSE, "threading_mode": "SHARED", "capture": capture}
            driver = stack.enter_context(MediaDriver.launch(aeron_dir=str(folder / capture.stem), **options))
            clients.append(stack.enter_context(Aeron.connect(aeron_dir=driver.aeron_dir)))
        subscription = clients[1].add_subscription(f"aeron:udp?endpoint=127.0.0.1:0{congestion}", STREAM)
        publication = clients[0].add_exclusive_publication(f"aeron:udp?endpoint={subscription.resolved_endpoint}|{TERM}", STREAM)
        traffic = Traffic(publication, subscription, sent)
        wait_until(lambda: traffic.is_done, lambda: f"{traffic.received} messages", work=traffic.work)
        wait_for_heartbeat(clients[0])
        publication.close()
        wait_for_heartbeat(clients[0])  # at the end of the stream
    return traffic.digest, kinds_of(*captures)


def wait_for_heartbeat(client: Aeron) -> None:
    before = client.counters_reader.value(SystemCounter.HEARTBEATS_SENT)
    wait_until(lambda: client.counters_reader.value(SystemCounter.HEARTBEATS_SENT) > before, "no heartbeat")


def in_the_world(folder: Path, sent: Sequence[bytes], seed: int, congestion: str) -> tuple[str, set[str]]:
    path = folder / "simulated.pcapng"
    with SimulatedWorld(seed=seed) as world:
        sender, receiver = (world.add_host(f"10.0.0.{number}", **OPTIONS, **MEASURING).connect() for number in (1, 2))
        capture = PacketCapture(path, world.clock)
        world.network.add_trace(capture)
        world.network.set_faults(loss=LOSS)
        channel = "aeron:udp?endpoint=10.0.0.2:40456"
        subscription = receiver.complete(receiver.aeron.async_add_subscription(f"{channel}{congestion}", STREAM))
        publication = sender.complete(sender.aeron.async_add_exclusive_publication(f"{channel}|{TERM}", STREAM))
        traffic = Traffic(publication, subscription, sent)
        receiver.start(traffic.work)
        assert world.run(60 * SECOND, until=lambda: traffic.is_done), f"{traffic.received} messages"
        world.run(IDLE_NS)
        publication.close()
        world.run(IDLE_NS)
    capture.close()
    return traffic.digest, kinds_of(path)


# The window of cubic congestion control is small where so much is lost.
@pytest.mark.parametrize(("count", "congestion", "further"), [(1_000, "", set()), (150, "|cc=cubic", {"RTTM"})], ids=["static", "cubic"])
def test_the_same_kinds_of_frames_and_the_same_messages(tmp_path: Path, seed: int, count: int, congestion: str, further: set[str]) -> None:
    draws = random.Random(seed)
    sent = [draws.randbytes(draws.randrange(LENGTH_MAX)) for _ in range(count)]
    expected = hashlib.sha256(b"".join(len(message).to_bytes(4, "little") + message for message in sent)).hexdigest()
    assert in_the_world(tmp_path, sent, seed, congestion) == (expected, ALWAYS | further)
    assert on_loopback(tmp_path, sent, congestion) == (expected, ALWAYS | further)
