"""Valid commands and datagrams in unusual orders: the driver keeps nothing of what has ended, and goes on serving other clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.transport import DataHeaderEncoder, FrameHeaderDecoder, FrameType, ResponseSetupEncoder, SetupDecoder
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.protocol.destinations import DESTINATIONS_LIMIT
from aerowire.simulation.world import SimulatedWorld
from tests.driver.conftest import RawClient

MS = 1_000_000
Simulated = Callable[..., tuple[SimulatedWorld, RawClient]]
HERE, PEER = "10.0.0.1", ("10.0.0.2", 6000)


class AtOnce(Executor):
    """Runs each call within `submit`, so that it is done before anybody looks."""

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(work(*arguments, **named))
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.fixture
def simulated() -> Iterator[Simulated]:
    """Start a driver on a simulated host with options; returns its world and a client of it."""
    worlds: list[SimulatedWorld] = []

    def start(**options: Any) -> tuple[SimulatedWorld, RawClient]:
        worlds.append(SimulatedWorld(seed=1))
        host = worlds[-1].add_host(HERE, environ={}, timer_interval_ns="100ms", **options)
        return worlds[-1], RawClient(host.driver, host.cnc)

    yield start
    for world in worlds:
        world.close()


def pass_time(world: SimulatedWorld, client: RawClient, milliseconds: int, step: int = 5) -> None:
    """Advance the clock in steps, after each of which the driver comes to rest: quicker than `world.run`, which stops at each deadline."""
    for _ in range(milliseconds // step):
        world.clock.advance(step * MS)
        for _ in range(10_000):
            if not client.driver.invoker.invoke():
                break
        else:
            raise AssertionError("the driver does not come to rest")


def test_a_refused_publication_leaves_no_log_that_was_made_at_once(simulated: Simulated, tmp_path: Path) -> None:
    _, client = simulated(term_buffer_sparse_file=False)
    core = client.driver.conductor.core
    core.logs._worker = AtOnce()
    for _ in range(80):
        client.error_of(client.add_publication("aeron:udp?control=10.0.0.1:40457|control-mode=dynamic|fc=nonsense|term-length=64k", 5))
    assert core.is_accepting_commands
    assert not list(tmp_path.rglob("publications/*.logbuffer"))
    client.take(CommandType.ON_SUBSCRIPTION_READY, client.add_subscription("aeron:ipc", 1))


def test_an_answer_for_a_subscription_that_awaits_none_leaves_its_socket_to_be_closed(simulated: Simulated) -> None:
    world, client = simulated(publication_linger_timeout_ns=0)
    peer = world.network.open_port(PEER)
    subscription = client.add_subscription("aeron:udp?endpoint=10.0.0.1:5000", 7)
    channel = f"aeron:udp?endpoint={PEER[0]}:{PEER[1]}|term-length=64k|response-correlation-id={subscription}"
    publication = client.add_publication(channel, 9)
    client.take(CommandType.ON_PUBLICATION_READY, publication)
    pass_time(world, client, 300)
    setups = [(payload, source) for payload, source, _ in peer.receive_datagrams(64) if FrameHeaderDecoder(payload).type == FrameType.SETUP]
    assert setups
    for payload, source in setups:
        setup = SetupDecoder(payload)
        response = ResponseSetupEncoder.encode(session_id=setup.session_id, stream_id=setup.stream_id, response_session_id=4711)
        peer.send_datagrams([(bytes(response), source)])
    pass_time(world, client, 50)
    client.request(CommandType.REMOVE_PUBLICATION, commands.RemovePublicationEncoder, registration_id=publication)
    client.request(CommandType.REMOVE_SUBSCRIPTION, commands.RemoveSubscriptionEncoder, registration_id=subscription)
    pass_time(world, client, 1500)
    assert list(client.driver.conductor.endpoints._receivers) == []


def test_a_channel_takes_no_more_destinations_than_it_is_sent_to(simulated: Simulated) -> None:
    _, client = simulated()
    publication = client.add_publication("aeron:udp?control-mode=manual|term-length=64k", 9)

    def add(number: int) -> int:
        fields = {"registration_id": publication, "channel": f"aeron:udp?endpoint=10.1.{number >> 8}.{number & 255}:6000"}
        return client.request(CommandType.ADD_DESTINATION, commands.AddDestinationEncoder, **fields)

    for number in range(DESTINATIONS_LIMIT):
        client.take(CommandType.ON_OPERATION_SUCCESS, add(number))
    for number in range(DESTINATIONS_LIMIT, DESTINATIONS_LIMIT + 2):
        client.take(CommandType.ON_ERROR, add(number))
    fields = {"registration_id": publication, "channel": "aeron:udp?endpoint=10.1.0.7:6000"}
    removed = client.request(CommandType.REMOVE_DESTINATION, commands.RemoveDestinationEncoder, **fields)
    client.take(CommandType.ON_OPERATION_SUCCESS, removed)
    client.take(CommandType.ON_OPERATION_SUCCESS, add(DESTINATIONS_LIMIT))


def test_a_channel_that_is_not_ascii_is_told_of_an_image_that_ends(simulated: Simulated) -> None:
    world, client = simulated(publication_linger_timeout_ns=0)
    fields = {"channel": b"aeron:ipc?alias=\xff", "stream_id": 9}
    client.request(CommandType.ADD_SUBSCRIPTION, commands.AddSubscriptionEncoder, **fields)
    publication = client.add_publication("aeron:ipc?term-length=64k", 9)
    client.request(CommandType.REMOVE_PUBLICATION, commands.RemovePublicationEncoder, registration_id=publication)
    pass_time(world, client, 10_000, step=100)
    client.work()
    ended = [response.channel for kind, response in client.responses if kind == CommandType.ON_UNAVAILABLE_IMAGE]
    assert ended == ["aeron:ipc?alias=?"]
    assert client.system(SystemCounter.ERRORS) == 0


def test_a_flood_of_strangers_leaves_room_for_who_asks_a_control_address(simulated: Simulated) -> None:
    world, client = simulated()
    endpoints = [(HERE, 5000 + number) for number in range(16)]
    for host, port in endpoints:
        client.add_subscription(f"aeron:udp?endpoint={host}:{port}", 7)
    client.work()
    stranger, control = world.network.open_port(("10.0.0.66", 666)), world.network.open_port(("10.0.0.2", 9000))
    session_id = 0
    for _ in range(60):
        for endpoint in endpoints:
            frames = []
            for _ in range(24):
                session_id += 1
                header = DataHeaderEncoder.encode(
                    frame_length=64, type=FrameType.DATA, session_id=session_id, stream_id=7, payload=bytes(32)
                )
                frames.append((bytes(header), endpoint))
            stranger.send_datagrams(frames)
        pass_time(world, client, 15, step=15)
        stranger.receive_datagrams(1000)
    client.add_subscription("aeron:udp?endpoint=10.0.0.1:6000|control=10.0.0.2:9000|control-mode=dynamic", 7)
    asked = []
    for _ in range(4):
        pass_time(world, client, 1000, step=100)
        stranger.receive_datagrams(10_000)
        asked.append(len(control.receive_datagrams(100)))
    assert all(asked), asked


_ADDING: dict[str, tuple[CommandType, Any, Callable[[int], dict[str, Any]]]] = {
    "IPC publications": (
        CommandType.ADD_PUBLICATION,
        commands.AddPublicationEncoder,
        lambda number: {"channel": "aeron:ipc?term-length=64k", "stream_id": number},
    ),
    "handles of one publication": (
        CommandType.ADD_PUBLICATION,
        commands.AddPublicationEncoder,
        lambda _: {"channel": "aeron:ipc?term-length=64k", "stream_id": 7},
    ),
    "UDP publications": (
        CommandType.ADD_PUBLICATION,
        commands.AddPublicationEncoder,
        lambda number: {"channel": f"aeron:udp?endpoint=10.0.0.2:{5000 + number}|term-length=64k", "stream_id": 7},
    ),
    "subscriptions": (
        CommandType.ADD_SUBSCRIPTION,
        commands.AddSubscriptionEncoder,
        lambda number: {"channel": f"aeron:udp?endpoint=10.0.0.1:{5000 + number}", "stream_id": 7},
    ),
    "counters": (CommandType.ADD_COUNTER, commands.AddCounterEncoder, lambda number: {"type_id": 1001, "key": b"", "label": str(number)}),
}


@pytest.mark.parametrize("kind", _ADDING)
@pytest.mark.parametrize("is_sparse", [True, False])
def test_a_correlation_id_names_one_thing_at_a_time(simulated: Simulated, kind: str, is_sparse: bool) -> None:
    world, client = simulated(
        client_liveness_timeout_ns=1_000_000_000,
        publication_linger_timeout_ns=0,
        counters_free_to_reuse_timeout_ns=0,
        term_buffer_sparse_file=is_sparse,
    )
    client.client_id = client.cnc.to_driver.next_correlation_id()
    conductor = client.driver.conductor

    def held() -> dict[str, int]:
        return {
            "counters": sum(1 for _ in client.cnc.counters_reader().for_each()),
            "publications": len(list(conductor.publications)),
            "receivers": len(conductor.endpoints._receivers),
            "senders": len(conductor.endpoints._senders),
        }

    before = held()
    message_type, encoder, fields_of = _ADDING[kind]
    for number in range(20):
        client.request(message_type, encoder, correlation_id=777, **fields_of(number))
    pass_time(world, client, 100)
    client.work()
    refused = [response for sort, response in client.responses if sort == CommandType.ON_ERROR]
    assert len(refused) == 19
    assert all("the correlation id is in use" in response.error_message for response in refused)
    client.request(CommandType.CLIENT_CLOSE, commands.ClientCloseEncoder)
    pass_time(world, client, 20_000, step=100)
    assert held() == before
