"""Answers that anybody may forge: what a sender does about requests to repair, receivers and errors, however many come."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.codecs.flyweights.transport import (
    ErrorFrameEncoder,
    FrameType,
    NakEncoder,
    ResponseSetupEncoder,
    StatusMessageEncoder,
)
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.queues.events import EventType, NativeErrorCode
from aerowire.driver.resources.stream_counters import OWN_COUNTERS
from aerowire.protocol.destinations import Destinations
from aerowire.protocol.min_flow_control import MinFlowControl
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import AgentHost

MS = 1_000_000
SECOND = 1_000_000_000
SESSION, STREAM, INITIAL_TERM = 77, 1001, 2**31 - 2
HERE, PEER = ("10.0.0.1", 40000), ("10.0.0.2", 40002)
MESSAGE = bytes(992)  # with its header 1,024 octets
NUMBERS = {kind.name: number for number, kind in OWN_COUNTERS.items()}


class Sending:
    """A publication with 32 messages sent, and the socket that forged answers come from."""

    def __init__(self, world: SimulatedWorld, node: AgentHost | None = None, number: int = 0, **options: Any) -> None:
        """`node` is a sender that there is already, and `number` tells its sockets apart."""
        self.world = world
        self.node = world.add(AgentHost(world.clock)) if node is None else node
        self.here, peer = (HERE[0], HERE[1] + 10 * number), (PEER[0], PEER[1] + 10 * number)
        self.peer = world.network.open_port(peer)
        group = options.pop("group", False)
        self.endpoint = self.node.send_endpoint(world.network.open_port(self.here, peer), group=group, **options.pop("endpoint", {}))
        self.publication, appender = self.node.publish(self.endpoint, **options)
        world.run(2 * MS)
        self.status(1)
        world.run(2 * MS)
        for _ in range(32):
            assert appender.append(MESSAGE) > 0
            world.run(MS)

    def status(self, receiver_id: int, *, window: int = 32 * 1024) -> None:
        frame = StatusMessageEncoder.encode(
            session_id=SESSION, stream_id=STREAM, consumption_term_id=INITIAL_TERM, receiver_window=window, receiver_id=receiver_id
        )
        self.say(frame)

    def nak(self, offset: int, length: int) -> None:
        self.say(NakEncoder.encode(session_id=SESSION, stream_id=STREAM, term_id=INITIAL_TERM, term_offset=offset, length=length))

    def say(self, frame: bytes) -> None:
        self.peer.send_datagrams([(frame, self.here)])

    def own(self, name: str) -> int:
        return self.node.counters.value(NUMBERS[name])

    def errors(self) -> set[NativeErrorCode]:
        return {NativeErrorCode(event.code) for event in self.node.events_of(EventType.NATIVE_ERROR)}


@pytest.mark.parametrize("group", [False, True])
def test_naks_for_two_ranges_in_turn_move_each_byte_once_within_the_linger(world: SimulatedWorld, group: bool) -> None:
    sending = Sending(world, group=group)
    for _ in range(80):
        sending.nak(0, 8 * 1024)
        sending.nak(8 * 1024, 8 * 1024)
        world.run(MS // 10)
    assert sending.node.get(SystemCounter.NAK_MESSAGES_RECEIVED) == 160
    assert sending.node.get(SystemCounter.RETRANSMITTED_BYTES) == 16 * 1024


def test_overlapping_naks_move_each_byte_once_within_the_linger(world: SimulatedWorld) -> None:
    sending = Sending(world)
    for offset, length in ((4096, 4096), (0, 16 * 1024), (2048, 20 * 1024), (1024, 1024)):
        sending.nak(offset, length)
        world.run(MS)
    assert sending.node.get(SystemCounter.RETRANSMITTED_BYTES) == 22 * 1024


@pytest.mark.parametrize("group", [False, True])
def test_what_many_ask_for_at_once_is_sent_over_some_cycles_and_whole(world: SimulatedWorld, group: bool) -> None:
    node = world.add(AgentHost(world.clock))
    sending = [Sending(world, node, number, group=group) for number in range(48)]
    for publication in sending:
        publication.nak(0, 32 * 1024)
    world.clock.advance(MS)
    resent = []
    while (total := node.get(SystemCounter.RETRANSMITTED_BYTES)) < 48 * 32 * 1024:
        node.work()
        resent.append(node.get(SystemCounter.RETRANSMITTED_BYTES) - total)
        assert len(resent) < 100
    assert max(resent) <= 1024 * 1024 + 32 * 1024
    assert node.get(SystemCounter.RETRANSMITS_SENT) == 48
    assert node.get(SystemCounter.RETRANSMIT_OVERFLOW) == 0


def test_a_limit_of_bytes_in_a_second_holds_and_says_so(world: SimulatedWorld) -> None:
    sending = Sending(world, retransmit_byte_rate=40 * 1024)
    for _ in range(100):
        sending.nak(0, 16 * 1024)
        world.run(20 * MS)
    assert 2 * 40 * 1024 - 8 * 1024 <= sending.node.get(SystemCounter.RETRANSMITTED_BYTES) <= 2 * 40 * 1024 + 4 * 1024
    assert sending.own("RETRANSMIT_BYTES_REFUSED") > 1_000_000
    assert sending.errors() == {NativeErrorCode.RETRANSMIT_RATE}


def test_without_a_limit_whatever_is_asked_for_after_the_linger_is_sent_again(world: SimulatedWorld) -> None:
    sending = Sending(world)
    for _ in range(10):
        sending.nak(0, 16 * 1024)
        world.run(20 * MS)
    assert sending.node.get(SystemCounter.RETRANSMITTED_BYTES) == 10 * 16 * 1024
    assert sending.own("RETRANSMIT_BYTES_REFUSED") == 0


def test_forged_receivers_beyond_the_limit_are_counted_and_not_waited_for(world: SimulatedWorld) -> None:
    flow_control = MinFlowControl(16, 48 * 1024, receiver_timeout_ns=5 * SECOND)
    sending = Sending(world, group=True, flow_control=flow_control)
    for receiver_id in range(2, 5_002):
        sending.status(receiver_id)
        if receiver_id % 50 == 0:
            world.run(MS // 2)
    world.run(5 * MS)
    assert flow_control.receiver_count == 4_096
    assert sending.own("RECEIVERS_REFUSED") == 5_001 - 4_096
    assert sending.errors() == {NativeErrorCode.RECEIVERS_FULL}


def test_forged_destinations_beyond_the_limit_are_counted() -> None:
    destinations = Destinations(dynamic=True)
    made = [destinations.hear(receiver, ("10.0.0.9", 1024 + receiver % 60_000), 0) for receiver in range(10_000)]
    assert made.count(True) == destinations.count == 4_096
    assert destinations.is_full


def test_forged_errors_are_told_64_times_a_second(world: SimulatedWorld) -> None:
    sending = Sending(world)
    for code in range(500):
        sending.status(7)
        sending.say(
            ErrorFrameEncoder.encode(
                frame_length=40, type=FrameType.ERR, session_id=SESSION, stream_id=STREAM, receiver_id=7, error_code=code, error_length=0
            )
        )
        world.run(MS)
    told = sending.node.events_of(EventType.PUBLICATION_ERROR)
    assert len(told) == 64
    assert sending.own("ERROR_FRAMES_IGNORED") == 500 - 64


def test_forged_response_set_ups_are_told_64_times_a_second(world: SimulatedWorld) -> None:
    sending = Sending(world, asks_for_response=True)
    for session in range(500):
        sending.say(ResponseSetupEncoder.encode(session_id=SESSION, stream_id=STREAM, response_session_id=session))
        world.run(MS)
    assert sending.node.kinds().count(EventType.RESPONSE_SETUP) == 64
