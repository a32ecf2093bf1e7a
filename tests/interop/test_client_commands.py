"""What a client asks the other implementation's driver for besides streams: many commands at once, counters, sessions."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.client import Aeron, Counter, ReadableCounter
from aerowire.ipc.counters import STATE_ALLOCATED
from tests.interop.harness import Side
from tests.interop.scenarios import LENGTH_MAX, LIMIT_S, TERM_LENGTH, End, Scenario, describe, order, other
from tests.support.processes import Process

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

STREAMS = 100
COUNTER_TYPE = 2001
STATIC_REGISTRATION = 424_242
KEY = b"key"


@pytest.mark.parametrize("acting", ["aerowire", "official"])
def test_two_hundred_commands_in_flight(scenario: Scenario, acting: Side) -> None:
    scenario.feature("200 publications and subscriptions asked for at once")
    end = End(acting, scenario.driver(other(acting), {"aeron.ipc.term.buffer.length": str(TERM_LENGTH)}))
    scenario.row.publishing = describe(end)
    scenario.row.subscribing.append(describe(end))
    peer = scenario.bench.peer(
        end.side,
        "burst",
        end.driver,
        channel="aeron:ipc",
        streams=STREAMS,
        messages=max(scenario.messages, STREAMS * 40),
        seed=77,
        length_max=LENGTH_MAX,
        timeout=int(LIMIT_S),
    )
    done = peer.outcome("burst", LIMIT_S)
    assert done["in_flight"] > STREAMS // 2, done
    scenario.observed("commands in flight")
    scenario.row.messages = done["messages"]
    scenario.row.terms = done["position"] // done["term_length"]
    assert scenario.row.terms >= 1
    assert done["term_length"] == TERM_LENGTH
    assert peer.finish() == 0, peer.said()
    scenario.finish()


def official_client(scenario: Scenario, end: End) -> Process:
    peer = scenario.bench.peer("official", "commander", end.driver)
    assert peer.event("ready", LIMIT_S)
    return peer


@pytest.mark.parametrize("driver", ["aerowire", "official"])
def test_counters_are_seen_by_the_other_client(scenario: Scenario, driver: Side) -> None:
    """Beside a stream of our client to the official one, each adds counters and reads the other's."""
    scenario.feature("Counters and static counters of either client")
    running = scenario.driver(driver)
    stream = scenario.stream()
    stream.subscribe(End("official", running), "aeron:ipc")
    stream.publish(End("aerowire", running), "aeron:ipc")
    official = official_client(scenario, End("official", running))
    heard: list[tuple[int, int]] = []
    with Aeron.connect(running.directory, available_counter_handler=lambda _reader, *ids: heard.append(ids)) as aeron:
        ours = aeron.add_counter(COUNTER_TYPE, "ours", key=KEY)
        ours.value = 7
        assert official.event("available", LIMIT_S)["counter_id"] >= 0
        assert _asked(official, f"find {COUNTER_TYPE} {ours.registration_id}", "found") == {
            "event": "found",
            "counter_id": ours.counter_id,
            "value": 7,
            "label": "ours",
            "owner_id": aeron.client_id,
            "state": STATE_ALLOCATED,
            "key": KEY.decode(),
        }
        theirs = _asked(official, "add-counter 2002 key theirs", "added")
        order(official, "set 99")
        reader = ReadableCounter(aeron.counters_reader, theirs["counter_id"], theirs["registration_id"])
        assert (reader.value, reader.label, aeron.counters_reader.key(theirs["counter_id"])[:3]) == (99, "theirs", KEY)
        static = aeron.add_static_counter(COUNTER_TYPE, "ours for ever", registration_id=STATIC_REGISTRATION, key=KEY)
        static.value = 5
        same = _asked(official, f"add-static-counter {COUNTER_TYPE} {STATIC_REGISTRATION} key another", "added")
        assert same["counter_id"] == static.counter_id
        found = _asked(official, f"find {COUNTER_TYPE} {STATIC_REGISTRATION}", "found")
        assert (found["value"], found["label"], found["owner_id"]) == (5, "ours for ever", -1)
        first = _asked(official, "add-static-counter 2003 11 key theirs for ever", "added")
        again = aeron.add_static_counter(2003, "again", registration_id=11)
        assert (again.counter_id, again.label, again.is_static) == (first["counter_id"], "theirs for ever", True)
        order(official, "close")
        assert reader.value == 99
        _gone(official, aeron, ours)
        assert any(counter_id == theirs["counter_id"] for _, counter_id in heard)
        sessions = {aeron.next_session_id(1001), _asked(official, "session 1001", "session")["session_id"]}
        assert len(sessions) == 2
    assert official.finish() == 0, official.said()
    scenario.observed("value, label, key, owner and state of a counter")
    stream.compare()
    stream.finish()
    scenario.finish()


def _gone(official: Process, aeron: Aeron, counter: Counter) -> None:
    counter_id, registration_id = counter.counter_id, counter.registration_id
    counter.close()
    assert official.event("unavailable", LIMIT_S) == {"event": "unavailable", "registration_id": registration_id, "counter_id": counter_id}
    assert _asked(official, f"find {COUNTER_TYPE} {registration_id}", "found")["counter_id"] == -1
    assert aeron.counters_reader.find_by_type_and_registration(COUNTER_TYPE, registration_id) < 0


def _asked(peer: Process, text: str, event: str) -> dict[str, Any]:
    """Give an order that is answered by an event, and return that."""
    assert peer.popen.stdin is not None
    peer.popen.stdin.write(f"{text}\n".encode())
    peer.popen.stdin.flush()
    answer = peer.event(event, LIMIT_S)
    assert peer.event("obeyed", LIMIT_S)
    return answer
