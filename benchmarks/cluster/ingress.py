#!/usr/bin/env python3
"""What a message of a client costs the leader of a cluster, from its image of ingress into the log: the native agent beside Python.

    python -m benchmarks.cluster.ingress [--runs N] [--length BYTES]

Messages of a session wait in an IPC image. The agent checks each, gives it the leader's header and appends it to the log, in cycles of 50
as it does in a cluster; a loop of Python does the same by a controlled poll and `offer_parts`. Both in turn, one thread, the medians of the
nanoseconds of a message. Bar: the agent takes at most a quarter of Python's time. Returns 1 when it is missed.
"""

from __future__ import annotations

import argparse
import struct
import sys
import time
from collections.abc import Callable

from aerowire.archive.agents.position_bound import PositionBound
from aerowire.base.runner import AgentInvoker
from aerowire.client import Action, Aeron, ExclusivePublication, Header, Subscription
from aerowire.client.lending.lent_counter import LentCounter
from aerowire.client.lending.lent_image import LentImage
from aerowire.client.lending.lent_publication import LentPublication
from aerowire.cluster.agents.agent_events import ClusterAgentEvents
from aerowire.cluster.agents.agent_proxies import LogAgentProxy
from aerowire.cluster.agents.leader_commit import LeaderCommit
from aerowire.cluster.agents.log_agent import LogAgent
from aerowire.cluster.agents.member_positions import MemberPositions
from aerowire.cluster.agents.message_image import MessageImage
from aerowire.cluster.agents.session_table import OpenSession
from aerowire.cluster.agents.terms import LeaderTerm
from aerowire.codecs.flyweights.cluster import SessionMessageHeader
from aerowire.codecs.tables.counters import CounterType
from aerowire.driver import MediaDriver
from aerowire.system.clock import SystemClock
from benchmarks.bars import judge, medians, scatter

CHANNEL = "aeron:ipc?term-length=16m"
TERM, SESSION = 1, 7
HEADER = SessionMessageHeader(leadership_term_id=TERM, cluster_session_id=SESSION, timestamp=0).encode()
# Half a term holds them all: no offer waits for room.
MESSAGES, BATCH = 20_000, 1_000
FRAGMENT_LIMIT = 50
MOST = 0.25
SECOND_NS = 1_000_000_000
CLOCK = SystemClock()


class Streams:
    """An ingress stream whose messages wait, and a log that an archive reads."""

    def __init__(self, aeron: Aeron, stream_id: int, length: int) -> None:
        self.aeron = aeron
        self.ingress, self.publication = self._open(stream_id)
        self.archive, self.log = self._open(stream_id + 1)
        self._batch = [HEADER + bytes(length)] * BATCH

    def measure(self, work: Callable[[], object]) -> float:
        """Let messages wait, and call `work` until all are in the log; return the nanoseconds that each took."""
        for _ in range(MESSAGES // BATCH):
            self.publication.send_many(self._batch)
        image = self.ingress.images[0]
        begin_ns = time.perf_counter_ns()
        while image.position < self.publication.position:
            work()
        taken_ns = time.perf_counter_ns() - begin_ns
        while self.archive.images[0].position < self.log.position:
            self.archive.images[0].poll_many(BATCH)
        return taken_ns / MESSAGES

    def _open(self, stream_id: int) -> tuple[Subscription, ExclusivePublication]:
        subscription = self.aeron.add_subscription(CHANNEL, stream_id)
        publication = self.aeron.add_exclusive_publication(CHANNEL, stream_id)
        while not (subscription.images and publication.is_connected):
            time.sleep(0.001)
        return subscription, publication


def by_agent(streams: Streams) -> Callable[[], object]:
    """Return a cycle of the log agent of a single member."""
    aeron = streams.aeron
    commit = aeron.add_counter(CounterType.CLUSTER_COMMIT_POSITION, "commit-pos")
    recorded = aeron.add_counter(CounterType.ARCHIVE_RECORDING_POSITION, "rec-pos")
    agent = LogAgent(ClusterAgentEvents(), CLOCK, LentCounter(commit), member_id=0, member_ids=(0,), fragment_limit=FRAGMENT_LIMIT)
    proxy = LogAgentProxy(agent)
    invoker = AgentInvoker([agent], CLOCK)
    leader = LeaderCommit(
        0,
        MemberPositions((0,)),
        leadership_term_id=TERM,
        commit_position=0,
        heartbeat_interval_ns=SECOND_NS,
        heartbeat_timeout_ns=10 * SECOND_NS,
    )
    proxy.lead(LeaderTerm(LentPublication(streams.log), PositionBound(aeron.counters_reader, recorded.counter_id), leader))
    proxy.add_ingress_image(MessageImage(LentImage(streams.ingress.images[0])))
    proxy.add_session(OpenSession(SESSION, 0))
    proxy.open_ingress(is_open=True)
    invoker.start()
    return invoker.invoke


def by_python(streams: Streams) -> Callable[[], object]:
    """Return a poll of the same image by Python."""
    image, log = streams.ingress.images[0], streams.log
    sessions = {SESSION: 0}
    ids, timestamps = struct.Struct("<qq"), struct.Struct("<q")
    message = bytearray(HEADER)

    def handler(buffer: memoryview, offset: int, length: int, _header: Header) -> Action | None:
        term_id, session_id = ids.unpack_from(buffer, offset + 8)
        if term_id != TERM or session_id not in sessions:
            return None
        now_ms = CLOCK.now_ms()
        timestamps.pack_into(message, 24, now_ms)
        if log.offer_parts(message, buffer[offset + 32 : offset + length]) < 0:
            return Action.ABORT
        sessions[session_id] = now_ms
        return None

    return lambda: image.controlled_poll(handler, FRAGMENT_LIMIT)


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=51, help="runs of each of which the median is taken (default: 51)")
    parser.add_argument("--length", type=int, default=100, help="bytes of a message without its header (default: 100)")
    given = parser.parse_args()
    with MediaDriver.launch_embedded(threading_mode="SHARED") as driver, Aeron.connect(driver.aeron_dir) as aeron:
        sides = {"agent": Streams(aeron, 1, given.length), "Python": Streams(aeron, 3, given.length)}
        works = {"agent": by_agent(sides["agent"]), "Python": by_python(sides["Python"])}
        figures: dict[str, list[float]] = {side: [] for side in sides}
        for run in range(given.runs + 1):
            for side, streams in sides.items():
                taken = streams.measure(works[side])
                if run:  # the first only warms up
                    figures[side].append(taken)
    middle = medians(figures)
    text = ", ".join(f"{side} {middle[side]:.0f} ns ({scatter(figures[side])})" for side in sides)
    return 0 if judge(f"ingress of {given.length} bytes: {text}", middle["agent"] / middle["Python"], most=MOST) else 1


if __name__ == "__main__":
    sys.exit(main())
