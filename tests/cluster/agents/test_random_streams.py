"""Random messages of all lengths, through full logs, ends of terms and limits within a message: nothing is lost, changed or moved."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

from aerowire.cluster.agents.events import IngressMessage, LogMessage
from aerowire.codecs.flyweights.cluster import SessionKeepAlive, TimerEvent
from tests.cluster.agents.log_host import FOREVER, HEADER, INGRESS_STREAM, TERM, LogHost, session_message
from tests.support.waiting import wait_until

KEEP_ALIVE = SessionKeepAlive(leadership_term_id=TERM, cluster_session_id=1).encode()
FOREIGN = b"\x04\x00\x01\x00\x09\x00\x00\x00"
LENGTHS = (0, 1, 31, 32, 33, 1_343, 1_344, 1_345, 2_720, 5_000, 8_000)


def payload(draw: random.Random, number: int) -> bytes:
    """Return bytes that begin with a number."""
    return number.to_bytes(4, "little") + draw.randbytes(draw.choice(LENGTHS))


def test_ingress_of_many_clients_is_appended_in_the_order_of_each(host: LogHost, seed: int) -> None:
    draw = random.Random(seed)
    host.lead()
    clients = [host.publication(INGRESS_STREAM) for _ in range(3)]
    for session_id in range(3):
        host.open_session(session_id)
    unsent = [deque(payload(draw, number) for number in range(250)) for _ in clients]
    expected = [list(messages) for messages in unsent]
    handed: list[list[bytes]] = [[] for _ in clients]
    logged: list[list[bytes]] = [[] for _ in clients]
    sessions = {client.session_id: index for index, client in enumerate(clients)}
    log_reader = host.log_reader
    assert log_reader is not None
    to_hand_over = [0, 0, 0]

    def work() -> None:
        index = draw.randrange(3)
        kind = draw.random()
        if kind < 0.1:
            to_hand_over[index] += clients[index].offer(FOREIGN + bytes(4)) > 0
        elif kind < 0.2:
            clients[index].offer(KEEP_ALIVE)
        elif unsent[index] and clients[index].offer(session_message(index, unsent[index][0])) > 0:
            unsent[index].popleft()
        if draw.random() < 0.5:
            host.work()
        if draw.random() < 0.05:
            for message in log_reader.poll():
                logged[message[16]].append(message[HEADER:])
        if draw.random() < 0.3:
            for event in host.seen:
                if isinstance(event, IngressMessage):
                    handed[sessions[event.image.loan.session_id]].append(event.message)
                    host.proxy.resume_image(event.image)
            host.seen.clear()

    wait_until(lambda: all(map(len_is(250), logged)), lambda: [len(messages) for messages in logged], work=work)
    assert logged == expected
    assert host.log.position > 10 * 65_536
    wait_until(lambda: [len(messages) for messages in handed] == to_hand_over, "what was handed over", work=work)
    assert host.agent.ingress_drops.total == 0


def len_is(count: int) -> Any:
    """Return whether something has so many items, as a function of it."""
    return lambda items: len(items) == count


def test_a_log_is_consumed_to_limits_anywhere(host: LogHost, seed: int) -> None:
    draw = random.Random(seed)
    publication, log = host.follow_log(0, is_bounded=False)
    expected: list[tuple[bytes, int]] = []
    found: list[tuple[bytes, int]] = []
    published, limit, cluster_time = 0, 0, {0: 0}

    def work() -> None:
        nonlocal published, limit
        kind = draw.random()
        if published < 600:
            timer = TimerEvent(leadership_term_id=TERM, correlation_id=published, timestamp=0).encode()
            message = draw.choice((timer, FOREIGN + payload(draw, published), session_message(1, payload(draw, 0), timestamp=published)))
            if publication.offer(message) > 0:
                published += 1
                cluster_time[publication.position] = published - 1 if message[2] == 1 and message[4] == 111 else -1
                if message[4] != 111 or message[2] != 1:
                    expected.append((message, publication.position))
        if kind < 0.3:
            limit = min(publication.position, limit + draw.choice((0, 32, 320, 1_408, 5_000, 40_000)) // 32 * 32)
            host.proxy.limit_log(FOREVER if published == 600 and limit == publication.position else limit)
        host.work()
        assert log.position <= limit
        for event in host.seen:
            if isinstance(event, LogMessage):
                found.append((event.message, event.position))
                if event.is_held:
                    host.proxy.resume_log()
        host.seen.clear()

    wait_until(lambda: published == 600 and log.position == publication.position, "the log's end", work=work)
    host.settle()
    assert found == expected
    assert log.cluster_time == max(cluster_time.values())
    assert host.commit_counter.value == publication.position > 5 * 65_536
    assert host.agent.log_drops.total == 0
