"""Whatever bytes clients and members send, the agent goes on, appends nothing of it and keeps nothing of it."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aerowire.cluster.agents.agent_events import LogEnd
from aerowire.cluster.agents.drop_counts import DropReason
from aerowire.cluster.agents.events import ConsensusMessage, ImageReturned, IngressMessage, LogMessage, LogReturned, TermFaulted
from aerowire.codecs.flyweights import cluster
from aerowire.codecs.support.errors import SbeError
from tests.cluster.agents.log_host import CONSENSUS_STREAM, FOREVER, HEADER, INGRESS_STREAM, TERM, LogHost, session_message
from tests.support.hostile.cluster import ClusterView, HostileMessages
from tests.support.waiting import wait_until

MESSAGES = 6_000
ACCEPTED = 500
RECORDED = 960
SCHEMA = 111
GROWTH_MAX = 8 << 20


def hostile(draw: random.Random) -> bytes:
    """Return random bytes, most of them behind a header that looks like one of the cluster's."""
    body = draw.randbytes(draw.choice((0, 1, 7, 8, 15, 16, 20, 21, 24, 28, 60, 1_400, 5_000)))
    kind = draw.random()
    if kind < 0.1:
        return body
    template_id = draw.choice((1, 1, 3, 4, 5, 5, 7, 8, 20, 21, 23, 24, 26, 50, 52, 53, 54, 54, 55, 55, 56, 75, 77, draw.randrange(65_536)))
    schema_id = SCHEMA if draw.random() < 0.9 else draw.randrange(65_536)
    header = struct.pack("<HHHH", draw.choice((0, 16, 20, 21, 24, 65_535)), template_id, schema_id, draw.choice((0, 17, 65_535)))
    ids = (TERM - 1, TERM, TERM + 1, -1, 8, 2**63 - 1, -(2**63))
    if draw.random() < 0.6:
        body = struct.pack("<qqi", draw.choice(ids), draw.choice(ids), draw.choice((0, 1, 2, 3, -1))) + body
    return header + body


def resident_bytes() -> int:
    """Return how much memory the process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def take(host: LogHost) -> int:
    """Run a cycle, and take what the conductor gets; return how many messages that were."""
    host.work()
    taken = 0
    for event in host.seen:
        taken += isinstance(event, IngressMessage | ConsensusMessage | LogMessage)
        if isinstance(event, IngressMessage):
            host.proxy.resume_image(event.image)
        elif isinstance(event, LogMessage) and event.is_held:
            host.proxy.resume_log()
    host.seen = [event for event in host.seen if isinstance(event, TermFaulted)]
    return taken


def flood(host: LogHost, publication: Any, draw: random.Random, count: int) -> int:
    """Send hostile messages while the conductor takes what it gets; return how many it got."""
    taken = 0
    for number in range(count):
        message = hostile(draw)
        while publication.offer(message) < 0:
            taken += take(host)
        if number % 20 == 0:
            taken += take(host)
    return taken


def test_hostile_ingress_is_not_appended_and_memory_stays_flat(host: LogHost, seed: int) -> None:
    draw = random.Random(seed)
    host.lead()
    client, good = host.publication(INGRESS_STREAM), host.publication(INGRESS_STREAM)
    host.open_session(7)
    flood(host, client, draw, MESSAGES // 3)
    before = resident_bytes()
    assert flood(host, client, draw, MESSAGES) > 100
    assert resident_bytes() - before < GROWTH_MAX
    drops = host.agent.ingress_drops
    for reason in (DropReason.MALFORMED, DropReason.WRONG_TERM, DropReason.UNKNOWN_SESSION, DropReason.UNKNOWN_TEMPLATE):
        assert drops[reason] > 0, reason
    host.offer(good, session_message(7, b"good"))
    assert [logged[HEADER:] for logged in host.logged()] == [b"good"]


def test_hostile_messages_of_members_commit_nothing_and_memory_stays_flat(hosts: Callable[..., LogHost], seed: int) -> None:
    draw = random.Random(seed)
    leader, follower = hosts(), hosts()
    leader.connect_members()
    leader.lead()
    term = follower.follow()
    for host in (leader, follower):
        host.recording_counter.value = 640
        member = host.publication(CONSENSUS_STREAM)
        flood(host, member, draw, MESSAGES // 3)
        before = resident_bytes()
        assert flood(host, member, draw, MESSAGES) > 100
        assert resident_bytes() - before < GROWTH_MAX
        assert host.took(TermFaulted) == []
        assert host.agent.consensus_drops[DropReason.MALFORMED] > 0
        assert host.agent.consensus_drops[DropReason.WRONG_TERM] > 0
    assert leader.commit_counter.value <= 640
    assert term.commit.notified_commit_position in {0, TERM - 1, TERM, TERM + 1, 8, 2**63 - 1}, "of the leader, by its own word"


def conduct(host: LogHost, event: ConsensusMessage) -> None:
    """Do with a message that the agent has handed over what the package asks of its conductor."""
    try:
        message: Any = cluster.decode(event.message)
    except SbeError:
        return
    if isinstance(message, cluster.CanvassPosition):
        host.proxy.update_member(message.follower_member_id, message.log_position, is_of_term=message.log_leadership_term_id == TERM)
    elif isinstance(message, cluster.NewLeadershipTerm):
        host.proxy.notify_commit(-1 if message.commit_position is None else message.commit_position)
    elif isinstance(message, cluster.TerminationPosition):
        host.proxy.terminate()
    elif isinstance(message, cluster.CatchupPosition | cluster.StopCatchup):
        host.proxy.watch_member(message.follower_member_id, is_watched=isinstance(message, cluster.CatchupPosition))


def work(host: LogHost) -> None:
    """Run a cycle of a host, of its conductor, and of the archive that reads its log."""
    host.clock.advance(1)
    host.proxy.flush()
    host.work()
    for event in host.seen:
        if isinstance(event, ConsensusMessage):
            conduct(host, event)
    take(host)
    if host.log_reader is not None:
        host.log_reader.poll()


def send(host: LogHost, publication: Any, message: bytes) -> None:
    """Publish a message that is not longer than messages can be, as soon as there is room."""
    if len(message) <= publication.max_message_length:
        wait_until(lambda: publication.offer(message) > 0, "room for a message", work=lambda: work(host))


def attack(host: LogHost, messages: HostileMessages) -> None:
    """Send messages of members and clients, and wait until all that is recorded is committed."""
    member, client = host.publication(CONSENSUS_STREAM), host.publication(INGRESS_STREAM)
    host.proxy.open_ingress(is_open=True)
    for _ in range(ACCEPTED):
        draw = messages.dice.choice((messages.consensus, messages.consensus, messages.election))
        send(host, member, draw())
        send(host, client, messages.ingress())
        if messages.dice.random() < 0.2:
            work(host)
    wait_until(lambda: host.commit_counter.value >= RECORDED, "the end of what is recorded", work=lambda: work(host))


def test_messages_that_the_rules_accept_commit_at_a_leader_no_more_than_it_has_recorded(host: LogHost, seed: int) -> None:
    host.connect_members()
    host.lead()
    host.open_session(7)
    host.recording_counter.value = RECORDED
    attack(host, HostileMessages(seed, ClusterView((0, 1, 2), 1, TERM, RECORDED, [7])))
    assert host.took(TermFaulted) == []
    assert host.commit_counter.value == RECORDED


def test_messages_that_the_rules_accept_make_a_follower_consume_no_more_than_it_has_recorded(host: LogHost, seed: int) -> None:
    host.follow()
    publication, log = host.follow_log()
    for _ in range(20):
        host.offer(publication, session_message(7, bytes(32)))
    host.recording_counter.value = RECORDED
    attack(host, HostileMessages(seed, ClusterView((0, 1, 2), 1, TERM, RECORDED)))
    assert host.took(TermFaulted) == []
    assert log.position == host.commit_counter.value == RECORDED < publication.position


def test_a_hostile_log_is_consumed_to_its_end_and_memory_stays_flat(host: LogHost, seed: int) -> None:
    draw = random.Random(seed)
    publication, log = host.follow_log(FOREVER, is_bounded=False)
    flood(host, publication, draw, MESSAGES // 3)
    before = resident_bytes()
    assert flood(host, publication, draw, MESSAGES) > 100
    assert resident_bytes() - before < GROWTH_MAX
    wait_until(lambda: log.position == publication.position, "the end of the log", work=lambda: take(host))
    assert host.agent.log_drops.total > 0


def damage(host: LogHost, publication: Any, length: int, at: int, replacement: bytes) -> None:
    """Publish a message that nobody reads yet, and write over a part of its frame's header."""
    host.proxy.open_ingress(is_open=False)
    host.settle()
    offset = publication.position % 65_536
    assert offset + 32 + length < 65_536
    publication.offer(session_message(7, bytes(length - HEADER)))
    for path in Path(host.driver.aeron_dir, "publications").iterdir():
        with path.open("r+b") as file:
            file.seek(offset + 12)
            if file.read(4) == struct.pack("<i", publication.session_id):
                file.seek(offset + at)
                file.write(replacement)
                break
    else:
        raise AssertionError("no log has the message")
    host.proxy.open_ingress(is_open=True)
    host.invoker.invoke()  # BEFORE the driver sees it, which ends such a stream too


def test_a_frame_that_cannot_be_stepped_over_ends_its_image_alone(host: LogHost) -> None:
    host.lead()
    client, other = (host.publication(INGRESS_STREAM) for _ in range(2))
    host.open_session(7)
    host.offer(client, session_message(7, b"before"))
    assert len(host.logged()) == 1
    damage(host, client, 96, 0, struct.pack("<i", 1 << 20))
    [event] = host.took(ImageReturned)
    assert event.is_malformed
    assert event.image.loan.session_id == client.session_id
    assert event.image.loan.is_returned
    host.offer(other, session_message(7, b"other"))
    assert [logged[HEADER:] for logged in host.logged()] == [b"other"]


def test_a_frame_that_cannot_be_stepped_over_ends_the_log(host: LogHost) -> None:
    publication, log = host.follow_log(FOREVER, is_bounded=False)
    publication.offer(session_message(7, bytes(32)))
    host.settle()
    damage(host, publication, 96, 0, struct.pack("<i", 31))
    assert host.took(LogReturned) == [LogReturned(log, LogEnd.MALFORMED, 96)]


def test_fragments_without_a_beginning_or_an_end_are_dropped(host: LogHost) -> None:
    host.lead()
    client = host.publication(INGRESS_STREAM)
    host.open_session(7)
    host.offer(client, session_message(7, b"first"))
    assert len(host.logged()) == 1
    for flags in (0x80, 0x80, 0x40, 0x40, 0x00):
        damage(host, client, HEADER + 1, 5, bytes([flags]))
        host.settle()
    host.offer(client, session_message(7, b"last"))
    logged = host.logged()
    assert [message[HEADER:] for message in logged] == [b"\0" + session_message(7, b"\0"), b"last"], "the second beginning has an end"
    assert host.agent.ingress_drops[DropReason.MALFORMED] == 1
