"""Hostile clients, members and services of a cluster: messages that are none, and such as the cluster's rules accept, in their thousands.

Beside them an honest client sends numbers, and each is answered in time. No term ends and no session is lost before messages come by which
the rules begin an election. All members live, have the same numbers at the end, hold no more memory than near the start, say nothing on
standard error, and end in order.
"""

from __future__ import annotations

import random
import time
from functools import partial
from pathlib import Path
from typing import Any

from aerowire.client import Aeron, ExclusivePublication, FragmentAssembler
from aerowire.cluster.sessions.session_options import PROTOCOL_VERSION
from aerowire.codecs.flyweights import cluster as messages
from aerowire.codecs.flyweights.cluster.enums import EventCode
from aerowire.codecs.flyweights.transport import DataFlags
from aerowire.codecs.support.errors import SbeError
from aerowire.codecs.tables.counters import CounterType
from tests.interop.cluster.kills import Kills
from tests.interop.cluster.mixed import MixedCluster, counters_of
from tests.interop.cluster.nodes import Member
from tests.interop.cluster.number_client import NumberClient
from tests.interop.harness import Bench
from tests.interop.scenarios import Scenario
from tests.soak.bars import Part, Size
from tests.soak.clusters.kills import NO_JAVA, OURS
from tests.soak.transport.footprint import anonymous_bytes
from tests.support.hostile.cluster import ClusterView, HostileMessages
from tests.support.processes import LIMIT_S, free_port, open_workshop
from tests.support.waiting import rest, wait_until

MESSAGES = 10_000
PARTS = 10
FIRST_SEED = 4_300
ROUND = 100  # messages between two looks at the honest client
ELECTION_MESSAGES = 40
ELECTION_PAUSE_S = 0.5
ANSWER_S = 15.0  # on a machine that has much else to do
SESSIONS = 8
INGRESS_STREAM, CONSENSUS_STREAM, EGRESS_STREAM = 101, 108, 102
# Streams of a member's own driver: its services' messages, replays and snapshots, which it reads by session.
SERVICE_STREAM, LOCAL_STREAMS = 105, (103, 106, 107)
LOCAL = "aeron:ipc?term-length=128k"
WARM_SHARE = 0.4
GROWTH_BYTES_MAX = 16 << 20
PROPERTIES = {
    "aeron.cluster.leader.heartbeat.timeout": "10s",
    "aeron.cluster.leader.heartbeat.interval": "200ms",
    "aeron.cluster.startup.canvass.timeout": "20s",
    "aeron.cluster.session.timeout": "5s",
    "aeron.cluster.max.sessions": "100",
    "aeron.term.buffer.length": "64k",
    "aeron.ipc.term.buffer.length": "64k",
    "aeron.archive.segment.file.length": "16m",
}


class Attacker:
    """Clients that send what is drawn: one of its own driver to all members, and one of each member's driver as its service."""

    def __init__(self, cluster: MixedCluster, driver: Path, seed: int) -> None:
        self.egress_channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k"
        self.view = ClusterView(tuple(member.member_id for member in cluster.members))
        self.messages = HostileMessages(seed, self.view, (self.egress_channel,))
        self.counts = {"messages": 0, "sessions": 0, "publications": 0, "pieces": 0}
        self._cluster = cluster
        self._aeron = Aeron.connect(driver)
        self._locals = {member.member_id: Aeron.connect(member.aeron_dir) for member in cluster.members}
        self._egress = self._aeron.add_subscription(self.egress_channel, EGRESS_STREAM)
        self._assembler = FragmentAssembler(self._on_response)
        self._publications: dict[tuple[int, str], ExclusivePublication] = {}
        self._draws = {"ingress": self.messages.ingress, "consensus": self.messages.consensus, "service": self.messages.service}

    def attack(self, count: int) -> None:
        """Send some messages to all members."""
        dice = self.messages.dice
        for _ in range(count):
            member = dice.choice(self._cluster.members)
            kind = dice.choice(tuple(self._draws))
            if len(self.view.sessions) < SESSIONS and dice.random() < 0.05:
                self._send(self._cluster.members[self.view.leader_id], "ingress", self._connect())
            self._send(member, kind, self._draws[kind]())
            if dice.random() < 0.03:
                self._send_piece(member, kind)
            if dice.random() < 0.02:
                self._send(member, f"local-{dice.choice(LOCAL_STREAMS)}", self.messages.consensus())
        self.poll()

    def begin_election(self) -> None:
        """Send a message for which the rules begin an election."""
        self._send(self.messages.dice.choice(self._cluster.members), "consensus", self.messages.election())

    def poll(self) -> None:
        """Read what comes, so that no service waits for room."""
        while self._egress.poll(self._assembler, 100):
            continue

    def look(self) -> None:
        """Take note of the term and of the log's end."""
        leader = self._cluster.leader_of(self._cluster.members)
        state = counters_of(leader)
        self.view.leader_id = leader.member_id
        self.view.leadership_term_id = state[CounterType.CLUSTER_LEADERSHIP_TERM_ID]
        self.view.log_position = state[CounterType.CLUSTER_COMMIT_POSITION]

    def close(self) -> None:
        """Go without a word."""
        for aeron in (self._aeron, *self._locals.values()):
            aeron.close()

    def _connect(self) -> bytes:
        encoded: bytes = messages.SessionConnectRequest(
            correlation_id=self.messages.dice.getrandbits(40),
            response_stream_id=EGRESS_STREAM,
            version=PROTOCOL_VERSION,
            response_channel=self.egress_channel,
            encoded_credentials=b"",
            client_info="hostile",
        ).encode()
        return encoded

    def _send(self, member: Member, kind: str, message: bytes) -> None:
        self.counts["messages"] += 1
        wait_until(lambda: self._offer(member, kind, message), f"member {member.member_id} takes no more of {kind}", work=self._work)

    def _offer(self, member: Member, kind: str, message: bytes) -> bool:
        publication = self._publication(member, kind)
        if len(message) > publication.max_message_length:
            return True
        # What nobody reads is not sent: streams that a member reads by session.
        return publication.offer(message) > 0 or kind.startswith("local")

    def _send_piece(self, member: Member, kind: str) -> None:
        """Send a fragment of a message whose others never come."""
        claim = self._publication(member, kind).try_claim(self.messages.dice.choice((0, 8, 40, 500)))
        if claim:  # else there is no room, or the log begins a term
            with claim:
                claim.flags = self.messages.dice.choice((DataFlags.BEGIN, 0, DataFlags.END))
            self.counts["pieces"] += 1

    def _publication(self, member: Member, kind: str) -> ExclusivePublication:
        publication = self._publications.get((member.member_id, kind))
        if publication is not None and (publication.is_connected or kind.startswith("local")):
            return publication
        if publication is not None:
            publication.close()
        if kind in {"ingress", "consensus"}:
            channel = f"aeron:udp?endpoint={member.ports[kind]}|term-length=1m"
            added = self._aeron.add_exclusive_publication(channel, INGRESS_STREAM if kind == "ingress" else CONSENSUS_STREAM)
        else:
            stream_id = SERVICE_STREAM if kind == "service" else int(kind.removeprefix("local-"))
            added = self._locals[member.member_id].add_exclusive_publication(LOCAL, stream_id)
        if not kind.startswith("local"):
            wait_until(lambda: added.is_connected, f"member {member.member_id} does not read {kind}", work=self._work)
        self._publications[member.member_id, kind] = added
        self.counts["publications"] += 1
        return added

    def _work(self) -> None:
        expect_alive(self._cluster)
        self.poll()
        rest()

    def _on_response(self, buffer: memoryview, offset: int, length: int, _header: object) -> None:
        try:
            event: Any = messages.decode(bytes(buffer[offset : offset + length]))
        except SbeError:
            return
        if isinstance(event, messages.SessionEvent):
            if event.code is EventCode.OK and event.cluster_session_id not in self.view.sessions:
                self.view.sessions.append(event.cluster_session_id)
                self.counts["sessions"] += 1
            elif event.code is EventCode.CLOSED and event.cluster_session_id in self.view.sessions:
                self.view.sessions.remove(event.cluster_session_id)


def expect_alive(cluster: MixedCluster) -> None:
    """Assert that all members run."""
    for member in cluster.members:
        assert member.process is not None
        assert member.process.popen.poll() is None, f"member {member.member_id} has ended\n{member.process.said()}"


def terms_of(cluster: MixedCluster) -> list[tuple[int | None, ...]]:
    """Return what an election changes at each member."""
    kinds = (CounterType.CLUSTER_LEADERSHIP_TERM_ID, CounterType.CLUSTER_ELECTION_COUNT, CounterType.CLUSTER_NODE_ROLE)
    return [tuple(counters_of(member).get(kind) for kind in kinds) for member in cluster.members]


def memory_of(cluster: MixedCluster) -> list[int]:
    """Return the anonymous memory of each member."""
    return [anonymous_bytes(member.process.popen.pid) for member in cluster.members if member.process is not None]


def answer(client: NumberClient) -> None:
    """Let the honest client send a number, and wait for an answer."""
    sent = client.sent
    deadline_s = time.monotonic() + ANSWER_S
    while max(client.answered, default=-1) < sent:
        assert time.monotonic() < deadline_s, f"no answer to {sent} within {ANSWER_S:g} s: {client.client}"
        client.work()


def end_in_order(cluster: MixedCluster) -> None:
    """End all members by SIGTERM, and assert that they had nothing to say on standard error."""
    for member in cluster.members:
        assert member.process is not None
        member.process.popen.terminate()
    for member in cluster.members:
        assert member.process is not None
        assert member.process.popen.wait(LIMIT_S) == 0, member.process.said()
        assert member.process.log.read_text(errors="replace") == "", member.process.said()


def run(count: int, seed: int, scratch: Path) -> str:
    """Attack a new cluster; return what was measured."""
    with open_workshop(scratch) as workshop:
        scenario = Scenario(Bench(NO_JAVA, workshop), 0)
        cluster = MixedCluster(scenario, (OURS,) * 3, PROPERTIES)
        cluster.start()
        honest = NumberClient(cluster, scenario.driver(OURS).directory)
        attacker = Attacker(cluster, scenario.driver(OURS).directory, seed)
        Kills(cluster, honest, random.Random(seed)).heal()
        before, warm = terms_of(cluster), memory_of(cluster)
        for sent in range(0, count, ROUND):
            attacker.look()
            attacker.attack(ROUND)
            answer(honest)
            expect_alive(cluster)
            if sent <= WARM_SHARE * count:
                warm = memory_of(cluster)
        growth = max(now - then for now, then in zip(memory_of(cluster), warm, strict=True))
        assert growth < GROWTH_BYTES_MAX, growth
        assert terms_of(cluster) == before, f"{before}, then {terms_of(cluster)}"
        assert honest.client.sessions_opened == 1, honest.client
        assert attacker.counts["sessions"] > 0, attacker.counts
        longest_s = honest.longest_silence_s
        for _ in range(ELECTION_MESSAGES):
            attacker.begin_election()
            end_s = time.monotonic() + ELECTION_PAUSE_S
            while time.monotonic() < end_s:
                honest.work()
            attacker.poll()
            expect_alive(cluster)
        measured = Kills(cluster, honest, random.Random(seed)).verify()
        terms = terms_of(cluster)
        honest.close()
        attacker.close()
        end_in_order(cluster)
    said = ", ".join(f"{number} {name}" for name, number in attacker.counts.items())
    return f"{said}; {growth / 1e6:.1f} MB more, an answer within {longest_s:.2f} s; then elections to {terms[0]}; {measured}"


def parts(size: Size) -> list[Part]:
    """Return the attacks. Nothing at small size: tests/cluster/module/test_hostile_members.py sends such messages in a simulated world."""
    if size is Size.SMALL:
        return []
    return [Part(f"messages-{seed}", seed, partial(run, MESSAGES, seed)) for seed in range(FIRST_SEED, FIRST_SEED + PARTS)]
