"""System counters that no other test looks at, each written where the official driver writes it."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.agents.command_queue import AgentCommand, AgentQueueFullError
from aerowire.codecs.flyweights.transport import DataHeaderEncoder, NakEncoder, SetupEncoder
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.agents import receiver, sender
from aerowire.driver.agents.agent_base import DriverAgent
from aerowire.driver.conductor.agent_proxies import ReceiverProxy, SenderProxy
from aerowire.driver.media.receive_endpoint import ReceiveEndpoint
from aerowire.driver.media.send_endpoint import SendEndpoint
from aerowire.driver.streams.network_publication import NetworkPublication
from aerowire.ipc.counters import AtomicCounter
from aerowire.logbuffer.append import Appender
from aerowire.protocol.flow_control import MaxFlowControl
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import AgentHost

MS = 1_000_000
SECOND = 1_000_000_000
TERM = 64 * 1024
SESSION, STREAM, INITIAL_TERM = 77, 1001, 2**31 - 2
SENDER, RECEIVER = ("10.0.0.1", 7000), ("10.0.0.2", 9000)


def connect(world: SimulatedWorld, *, group: bool = False, **options: Any) -> tuple[AgentHost, AgentHost, NetworkPublication, Appender]:
    """Return two hosts, a publication with `options` of the first, its appender; the second has an image of it."""
    publisher, subscriber = world.add(AgentHost(world.clock)), world.add(AgentHost(world.clock))
    subscriber.receive_at(world.network.open_port(RECEIVER))
    send = publisher.send_endpoint(world.network.open_port(SENDER, RECEIVER), group=group)
    publication, appender = publisher.publish(send, **options)
    world.run(300 * MS)
    assert publication.is_connected
    return publisher, subscriber, publication, appender


def nak(subscriber: AgentHost, offset: int, length: int) -> None:
    """Ask the publisher for bytes again."""
    port = subscriber.images[0].endpoint.port
    assert port is not None
    frame = NakEncoder.encode(session_id=SESSION, stream_id=STREAM, term_id=INITIAL_TERM, term_offset=offset, length=length)
    port.send_datagrams([(frame, SENDER)])


def data(term_offset: int, *, term_id: int = INITIAL_TERM, payload: bytes = bytes(32)) -> bytes:
    header = DataHeaderEncoder.encode(
        frame_length=32 + len(payload),
        flags=0xC0,
        type=1,
        term_offset=term_offset,
        session_id=SESSION,
        stream_id=STREAM,
        term_id=term_id,
        reserved_value=0,
    )
    return bytes(header[:32]) + payload


def test_heartbeats_are_counted_where_they_arrive(world: SimulatedWorld) -> None:
    publisher, subscriber, _, _ = connect(world)
    world.run(SECOND)
    sent, received = publisher.get(SystemCounter.HEARTBEATS_SENT), subscriber.get(SystemCounter.HEARTBEATS_RECEIVED)
    assert sent >= 9
    assert sent - received in {0, 1}  # the last may be under way


def test_data_from_before_the_last_status_message_is_an_under_run(world: SimulatedWorld) -> None:
    _, subscriber, _, appender = connect(world)
    for _ in range(12):  # more than a quarter of the window, so that the next status message tells of it
        appender.append(bytes(1_000))
    for _ in range(10):
        world.run(50 * MS)
        subscriber.subscribers[0].poll()
    stranger = world.network.open_port(("10.0.0.9", 1))
    stranger.send_datagrams([(data(0), RECEIVER)])
    world.run(MS)
    assert subscriber.get(SystemCounter.FLOW_CONTROL_UNDER_RUNS) == 1


def test_retransmitted_bytes_are_the_frames_that_were_sent_again(world: SimulatedWorld) -> None:
    publisher, subscriber, _, appender = connect(world)
    for _ in range(3):
        appender.append(bytes(1_000))
    world.run(50 * MS)
    nak(subscriber, 0, 2_112)
    world.run(20 * MS)
    assert publisher.get(SystemCounter.RETRANSMITTED_BYTES) == 2 * 1_056


@pytest.mark.parametrize("delay_ns", [0, 5 * MS])
def test_what_is_sent_again_is_not_among_the_bytes_sent(world: SimulatedWorld, delay_ns: int) -> None:
    publisher, subscriber, _, appender = connect(world, retransmit_delay_ns=delay_ns)
    appender.append(bytes(1_000))
    world.run(50 * MS)
    sent, heartbeats = publisher.get(SystemCounter.BYTES_SENT), publisher.get(SystemCounter.HEARTBEATS_SENT)
    nak(subscriber, 0, 1_056)
    world.run(50 * MS)
    heartbeats = publisher.get(SystemCounter.HEARTBEATS_SENT) - heartbeats
    assert publisher.get(SystemCounter.RETRANSMITTED_BYTES) == 1_056
    assert publisher.get(SystemCounter.BYTES_SENT) - sent == 32 * heartbeats


def test_a_nak_that_finds_no_place_is_an_overflow(world: SimulatedWorld) -> None:
    publisher, subscriber, _, appender = connect(world, group=True, flow_control=MaxFlowControl(4, 128 * 1024), max_resend=2)
    for _ in range(6):
        appender.append(bytes(1_000))
    world.run(50 * MS)
    for place in (0, 2, 4):
        nak(subscriber, place * 1_056, 1_056)
    world.run(5 * MS)
    assert publisher.get(SystemCounter.RETRANSMIT_OVERFLOW) == 1
    assert publisher.get(SystemCounter.RETRANSMITTED_BYTES) == 2 * 1_056


def test_error_frames_are_counted_where_they_are_sent(world: SimulatedWorld) -> None:
    publisher, subscriber, _, _ = connect(world)
    subscriber.reject(subscriber.images[0], "no")
    world.run(SECOND)
    sent = subscriber.get(SystemCounter.ERROR_FRAMES_SENT)
    assert sent >= 4
    assert sent - publisher.get(SystemCounter.ERROR_FRAMES_RECEIVED) in {0, 1}


def test_a_revoked_publication_is_counted_at_both_ends(world: SimulatedWorld) -> None:
    publisher, subscriber, publication, _ = connect(world)
    publication.revoke()
    world.run(300 * MS)
    assert (publisher.get(SystemCounter.PUBLICATIONS_REVOKED), subscriber.get(SystemCounter.PUBLICATION_IMAGES_REVOKED)) == (1, 1)


def test_the_longest_cycle_and_those_that_were_too_long(world: SimulatedWorld) -> None:
    node = world.add(AgentHost(world.clock))
    world.run(MS)
    for elapsed_ns in (40 * MS, 250 * MS, 30 * MS):
        world.clock.advance(elapsed_ns)
        node.work()
    for role in ("CONDUCTOR", "SENDER", "RECEIVER"):
        longest = node.get(SystemCounter[f"{role}_MAX_CYCLE_TIME"])
        assert longest == 250 * MS, role
        assert node.get(SystemCounter[f"{role}_CYCLE_TIME_THRESHOLD_EXCEEDED"]) == 1, role


@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_a_command_that_an_agent_has_no_room_for(world: SimulatedWorld, role: str) -> None:
    node = world.add(AgentHost(world.clock))
    agent: DriverAgent = getattr(node, role)
    operation = {"sender": sender, "receiver": receiver}[role].ADD_ENDPOINT
    endpoint: SendEndpoint | ReceiveEndpoint
    if role == "sender":
        endpoint = SendEndpoint(world.network.open_port(SENDER), node.system, channel="x")
    else:
        endpoint = node.receive_endpoint(world.network.open_port(RECEIVER))

    def fill() -> None:
        for _ in range(100_000):
            agent.put(AgentCommand(operation, endpoint, hold=True))

    with pytest.raises(AgentQueueFullError):
        fill()
    assert node.get(SystemCounter[f"{role.upper()}_PROXY_FAILS"]) == 1


@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_each_command_that_waits_at_an_agents_gate_is_counted(world: SimulatedWorld, role: str) -> None:
    node = world.add(AgentHost(world.clock))
    which = SystemCounter[f"{role.upper()}_PROXY_FAILS"]
    failed_offers = AtomicCounter(node.counters, which)
    proxy: Any
    endpoint: SendEndpoint | ReceiveEndpoint
    if role == "sender":
        proxy, endpoint = (
            SenderProxy(node.sender, failed_offers),
            SendEndpoint(world.network.open_port(SENDER), node.system, channel="x"),
        )
    else:
        proxy, endpoint = ReceiverProxy(node.receiver, failed_offers), node.receive_endpoint(world.network.open_port(RECEIVER))
    while getattr(node, role).free_commands:
        proxy.add_endpoint(endpoint)
    assert node.get(which) == 0
    for _ in range(3):
        proxy.add_endpoint(endpoint)
    assert node.get(which) == 3
    node.work()
    assert (proxy.flush(), node.get(which)) == (3, 3)


def test_an_event_that_the_conductor_has_no_room_for_is_counted(world: SimulatedWorld) -> None:
    """Each SETUP of an unknown session requests an image, and there are more of them than the queue holds while the conductor sleeps."""
    node = world.add(AgentHost(world.clock))
    node.receive_at(world.network.open_port(RECEIVER))
    stranger = world.network.open_port(("10.0.0.9", 1))
    for session_id in range(3_000):
        setup = SetupEncoder.encode(
            term_offset=0,
            session_id=session_id,
            stream_id=STREAM,
            initial_term_id=0,
            active_term_id=0,
            term_length=TERM,
            mtu=1408,
            ttl=0,
        )
        stranger.send_datagrams([(setup, RECEIVER)])
        world.clock.advance(MS)
        node.invoker.invoke()
    assert node.get(SystemCounter.CONDUCTOR_PROXY_FAILS) > 0
