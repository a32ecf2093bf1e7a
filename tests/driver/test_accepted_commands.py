"""Commands and datagrams that no rule refuses, in an order that nobody meant: nothing stays behind, and nobody else is kept waiting."""

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

MS = 1_000_000
HERE, PEER = "10.0.0.1", ("10.0.0.2", 6000)


class AtOnce(Executor):
    """Everything is done before `submit` returns, as a quick worker may do it."""

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(work(*arguments, **named))
        except Exception as error:
            future.set_exception(error)
        return future


class Driver:
    """A simulated driver and the commands of its client."""

    def __init__(self, directory: Path, **options: Any) -> None:
        self.world = SimulatedWorld(directory, seed=1)
        self.host = self.world.add_host(HERE, environ={}, timer_interval_ns="100ms", **options)
        self.registrar = self.host.driver.registrar
        self.ring = self.host.cnc.to_driver
        self.client_id = self.ring.next_correlation_id()
        self.answers = self.host.cnc.to_clients_receiver()

    def command(self, name: str, command_type: CommandType, **values: Any) -> tuple[int, CommandType]:
        """Send a command; return its correlation id and the type of its answer."""
        correlation_id = self.ring.next_correlation_id()
        encoder = getattr(commands, f"{name}Encoder")
        if "registration_correlation_id" in encoder.MEMBERS:
            values.setdefault("registration_correlation_id", -1)
        self.ring.write(command_type, encoder.encode(client_id=self.client_id, correlation_id=correlation_id, **values))
        self.settle()
        answers = []
        while (message := self.answers.receive()) is not None:
            answers.append(CommandType(message[0]))
        return correlation_id, next(answer for answer in answers if answer != CommandType.ON_COUNTER_READY)

    def subscribe(self, channel: str, stream_id: int) -> int:
        return self.command("AddSubscription", CommandType.ADD_SUBSCRIPTION, channel=channel, stream_id=stream_id)[0]

    def settle(self) -> None:
        for _ in range(10_000):
            if not self.host.work():
                return
        raise AssertionError("the driver does not come to rest")

    def run(self, milliseconds: int, step: int = 5) -> None:
        for _ in range(milliseconds // step):
            self.world.clock.advance(step * MS)
            self.settle()


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Callable[..., Driver]]:
    made: list[Driver] = []

    def make(**options: Any) -> Driver:
        made.append(Driver(tmp_path, **options))
        return made[-1]

    yield make
    for one in made:
        one.host.close()


def test_a_refused_publication_leaves_no_log_that_was_made_at_once(driver: Callable[..., Driver], tmp_path: Path) -> None:
    one = driver(term_buffer_sparse_file=False)
    one.registrar.core.logs._worker = AtOnce()
    channel = "aeron:udp?control=10.0.0.1:40457|control-mode=dynamic|fc=nonsense|term-length=64k"
    for _ in range(80):
        assert one.command("AddPublication", CommandType.ADD_PUBLICATION, channel=channel, stream_id=5)[1] == CommandType.ON_ERROR
    assert one.registrar.core.is_accepting_commands
    assert not list(tmp_path.rglob("publications/*.logbuffer"))
    assert one.command("AddSubscription", CommandType.ADD_SUBSCRIPTION, channel="aeron:ipc", stream_id=1)[1] == (
        CommandType.ON_SUBSCRIPTION_READY
    )


def test_an_answer_for_a_subscription_that_awaits_none_leaves_its_socket_to_be_closed(driver: Callable[..., Driver]) -> None:
    one = driver(publication_linger_timeout_ns=0)
    peer = one.world.network.open_port(PEER)
    subscription = one.subscribe("aeron:udp?endpoint=10.0.0.1:5000", 7)
    channel = f"aeron:udp?endpoint={PEER[0]}:{PEER[1]}|term-length=64k|response-correlation-id={subscription}"
    publication, answer = one.command("AddPublication", CommandType.ADD_PUBLICATION, channel=channel, stream_id=9)
    assert answer == CommandType.ON_PUBLICATION_READY
    one.run(300)
    setups = [(payload, source) for payload, source, _ in peer.receive_datagrams(64) if FrameHeaderDecoder(payload).type == FrameType.SETUP]
    assert setups
    for payload, source in setups:
        setup = SetupDecoder(payload)
        response = ResponseSetupEncoder.encode(session_id=setup.session_id, stream_id=setup.stream_id, response_session_id=4711)
        peer.send_datagrams([(bytes(response), source)])
    one.run(50)
    one.command("RemovePublication", CommandType.REMOVE_PUBLICATION, registration_id=publication)
    one.command("RemoveSubscription", CommandType.REMOVE_SUBSCRIPTION, registration_id=subscription)
    one.run(1500)
    assert list(one.registrar.endpoints._receivers) == []


def test_a_channel_takes_no_more_destinations_than_it_is_sent_to(driver: Callable[..., Driver]) -> None:
    one = driver()
    channel = "aeron:udp?control-mode=manual|term-length=64k"
    publication, _ = one.command("AddPublication", CommandType.ADD_PUBLICATION, channel=channel, stream_id=9)

    def add(number: int) -> CommandType:
        destination = f"aeron:udp?endpoint=10.1.{number >> 8}.{number & 255}:6000"
        fields = {"registration_id": publication, "channel": destination}
        return one.command("AddDestination", CommandType.ADD_DESTINATION, **fields)[1]

    answers = [add(number) for number in range(DESTINATIONS_LIMIT + 2)]
    assert answers == [CommandType.ON_OPERATION_SUCCESS] * DESTINATIONS_LIMIT + [CommandType.ON_ERROR] * 2
    fields = {"registration_id": publication, "channel": "aeron:udp?endpoint=10.1.0.7:6000"}
    assert one.command("RemoveDestination", CommandType.REMOVE_DESTINATION, **fields)[1] == CommandType.ON_OPERATION_SUCCESS
    assert add(DESTINATIONS_LIMIT) == CommandType.ON_OPERATION_SUCCESS


def test_a_channel_that_is_not_ascii_is_told_of_an_image_that_ends(driver: Callable[..., Driver]) -> None:
    one = driver(publication_linger_timeout_ns=0)
    one.command("AddSubscription", CommandType.ADD_SUBSCRIPTION, channel=b"aeron:ipc?alias=\xff", stream_id=9)
    fields = {"channel": "aeron:ipc?term-length=64k", "stream_id": 9}
    publication, _ = one.command("AddPublication", CommandType.ADD_PUBLICATION, **fields)
    one.command("RemovePublication", CommandType.REMOVE_PUBLICATION, registration_id=publication)
    ended: list[str] = []
    for _ in range(100):
        one.run(100, step=100)
        while (message := one.answers.receive()) is not None:
            if message[0] == CommandType.ON_UNAVAILABLE_IMAGE:
                ended.append(commands.UnavailableImageDecoder(message[1]).channel)
    assert ended == ["aeron:ipc?alias=?"]
    assert one.host.cnc.counters_reader().value(SystemCounter.ERRORS) == 0


def test_a_flood_of_strangers_leaves_room_for_who_asks_a_control_address(driver: Callable[..., Driver]) -> None:
    one = driver()
    endpoints = [(HERE, 5000 + number) for number in range(16)]
    for host, port in endpoints:
        one.subscribe(f"aeron:udp?endpoint={host}:{port}", 7)
    stranger, control = one.world.network.open_port(("10.0.0.66", 666)), one.world.network.open_port(("10.0.0.2", 9000))
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
        one.run(15, step=15)
        stranger.receive_datagrams(1000)
    one.subscribe("aeron:udp?endpoint=10.0.0.1:6000|control=10.0.0.2:9000|control-mode=dynamic", 7)
    asked = []
    for _ in range(4):
        one.run(1000, step=100)
        stranger.receive_datagrams(10_000)
        asked.append(len(control.receive_datagrams(100)))
    assert all(asked), asked
