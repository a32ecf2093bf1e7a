"""Processes that are stopped for seconds while a recording and its replay go on: an archive, and then the clients of both streams."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest

from aerowire.archive import AeronArchive, ReplayParams
from tests.interop.archive.content import Batch, hash_of, replayed
from tests.interop.archive.nodes import ArchiveNode, finish, start_archive
from tests.interop.harness import Side
from tests.interop.scenarios import LENGTH_MAX, LIMIT_S, Scenario, other
from tests.support.processes import Process, free_port
from tests.support.waiting import epoch_ms, wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

SIDES: tuple[Side, Side] = ("aerowire", "official")
STREAM_ID, REPLAY_STREAM_ID = 9001, 9101
SENT = Batch(61, 4000)
# Messages of a second: the streams go on during both pauses.
RATE = 700
PAUSE_MS = 2000
CHANNEL = "aeron:ipc?term-length=64k"


@dataclass(frozen=True)
class Line:
    """An archive that records a publisher of the other side, and replays what it records to a subscriber of the other side."""

    node: ArchiveNode
    client: AeronArchive
    publisher: Process
    subscriber: Process
    replay_channel: str

    def start(self) -> None:
        """Record and replay, from which moment on the publisher publishes."""
        self.client.start_recording(CHANNEL, STREAM_ID, auto_stop=True)
        wait_until(self.client.list_recordings, "the recording")
        self.client.start_replay(0, self.replay_channel, REPLAY_STREAM_ID, ReplayParams(position=0))

    def check_session(self) -> None:
        """Assert that the session is still open, and that the recording goes on, or that all is recorded where the machine was slow."""
        before = self.client.get_recording_position(0)
        wait_until(
            lambda: self.client.get_recording_position(0) > before or self.client.get_stop_position(0) > 0,
            f"the recording of the {self.node.side} archive",
        )

    def compare(self, scenario: Scenario) -> None:
        """Assert that all messages were recorded, and replayed to the subscriber."""
        sent = self.publisher.outcome("publisher", LIMIT_S)
        self.client.await_recorded(0, sent["position"])
        expected = hash_of(SENT)
        found = self.subscriber.outcome("subscriber", LIMIT_S)
        assert {name: found[name] for name in expected} == expected
        for peer in (self.publisher, self.subscriber):
            assert peer.finish() == 0, peer.said()
        wait_until(lambda: self.client.get_stop_position(0) == sent["position"], "the recording's stop")
        assert replayed(self.client, 0) == expected
        scenario.row.messages = SENT.messages
        scenario.observed("content hash, of the replay that went on meanwhile and of a later one")


def prepare_line(scenario: Scenario, side: Side) -> Line:
    """Start an archive on a driver of the other side, a publisher that waits for a recording, and a subscriber that waits for a replay."""
    peers = other(side)
    node = start_archive(scenario, side, scenario.driver(peers))
    replay_channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    common = {"messages": SENT.messages, "timeout": int(LIMIT_S)}
    subscriber = scenario.bench.peer(peers, "subscriber", node.driver, channel=replay_channel, stream=REPLAY_STREAM_ID, **common)
    paced = {"seed": SENT.seed, "length_max": LENGTH_MAX, "per-second": RATE}
    publisher = scenario.bench.peer(peers, "publisher", node.driver, channel=CHANNEL, stream=STREAM_ID, **common, **paced)
    assert subscriber.result(LIMIT_S)["ready"]
    assert publisher.event("ready", LIMIT_S)
    return Line(node, node.connect("udp"), publisher, subscriber, replay_channel)


@contextmanager
def stopped(*processes: Process) -> Iterator[None]:
    """Stop processes, and let them go on behind the block."""
    for process in processes:
        process.popen.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            process.popen.send_signal(signal.SIGCONT)


def pause(*processes: Process) -> None:
    """Stop processes for a while."""
    with stopped(*processes):
        end_ms = epoch_ms() + PAUSE_MS
        wait_until(lambda: epoch_ms() > end_ms, "the end of a pause")


def test_recordings_and_replays_go_on_when_a_process_was_stopped(scenario: Scenario) -> None:
    with ExitStack() as clients:
        lines = [prepare_line(scenario, side) for side in SIDES]
        for line in lines:
            clients.enter_context(line.client)
            line.start()
        for line in lines:
            line.check_session()
        pause(*(line.node.process for line in lines))
        for line in lines:
            line.check_session()
        pause(*(process for line in lines for process in (line.publisher, line.subscriber)))
        for line in lines:
            peers = other(line.node.side)
            scenario.next_feature(f"Archive: archive, publisher and reader each stopped for {PAUSE_MS / 1000:g} s (SIGSTOP)")
            scenario.row.publishing = f"{peers} client, {peers} driver, by the {line.node.side} archive"
            scenario.row.subscribing = [f"{peers} client, {peers} driver"]
            line.compare(scenario)
    finish(scenario, *(line.node for line in lines))
