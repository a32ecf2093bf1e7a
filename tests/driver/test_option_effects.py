"""What options of the driver do, each by its official property and seen from outside: a counter, a length, a frame.

Streams run in virtual time over a network in memory, where the test is the other end; files and sockets are the system's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from aerowire.base.ports import DatagramPort
from aerowire.codecs.flyweights import transport
from aerowire.codecs.flyweights.cnc import StreamCounterKeyDecoder
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.transport import FrameType
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.logbuffer.log import LogBuffers
from aerowire.simulation.world import SimulatedWorld
from aerowire.system.ports import Ports, SocketSpec
from tests.support.stream_client import STREAM, StreamClient

MS = 1_000_000
SECOND = 1_000_000_000
TERM_LENGTH = 64 * 1024
MESSAGE = bytes(992)  # with its header 1,024 octets
FRAME_LENGTH = 1024
SESSION, INITIAL_TERM = 77, 5
HERE, PEER = ("10.0.0.1", 40456), ("10.0.0.9", 40456)
PUBLISHED = f"aeron:udp?endpoint={PEER[0]}:{PEER[1]}"
SUBSCRIBED = f"aeron:udp?endpoint={HERE[0]}:{HERE[1]}"


@dataclass
class Stage:
    """A driver in virtual time, a client of it, and a socket of another machine's."""

    world: SimulatedWorld
    client: StreamClient
    peer: DatagramPort
    arrived: list[tuple[bytes, tuple[str, int]]]

    def run(self, duration_ns: int, until: Callable[[], object] = lambda: False) -> int:
        """Let time pass, at most so long; return how long it was."""
        start = self.world.clock.now_ns()

        def look() -> bool:
            self.arrived += [(bytes(packet), source) for packet, source, _ in self.peer.receive_datagrams(64) if source is not None]
            return bool(until())

        self.world.run(duration_ns, until=look)
        return self.world.clock.now_ns() - start

    def take(self, kind: FrameType) -> list[bytes]:
        """Return the frames of a type that have come to the peer, and forget all."""
        found = [packet for packet, _ in self.arrived if transport.FrameHeaderDecoder(packet).type == kind]
        self.arrived.clear()
        return found

    def send(self, frame: bytes, to: tuple[str, int] = HERE) -> None:
        self.peer.send_datagrams([(frame, to)])

    def values(self, kind: CounterType) -> list[int]:
        return [item.value for item in self.client.counters.for_each() if item.type_id == kind]

    def system(self, which: SystemCounter) -> int:
        return self.client.counters.value(which)

    def publish(self, channel: str = PUBLISHED) -> tuple[Any, tuple[str, int]]:
        """Add a publication; return its SETUP and where that comes from."""
        self.client.publish(channel)
        self.run(SECOND, lambda: self.client.publication is not None and self.arrived)
        packet, source = self.arrived[0]
        self.arrived.clear()
        return transport.SetupDecoder(packet), source

    def subscribe(self, channel: str = SUBSCRIBED) -> None:
        self.client.subscribe(channel)
        self.run(MS)

    def set_up(self, term_length: int = TERM_LENGTH) -> None:
        """Send what begins a stream, and let an image come of it."""
        self.send(
            transport.SetupEncoder.encode(
                frame_length=transport.SetupEncoder.ENCODED_LENGTH,
                session_id=SESSION,
                stream_id=STREAM,
                initial_term_id=INITIAL_TERM,
                active_term_id=INITIAL_TERM,
                term_length=term_length,
                mtu=1408,
            )
        )
        self.run(MS)

    def offer(self, count: int = 100) -> int:
        """Offer messages until one is refused; return how many were taken."""
        for taken in range(count):
            if self.client.offer(MESSAGE) <= 0:
                return taken
        return count


def status(setup: Any, *, window: int, receiver_id: int = 1, offset: int = 0) -> bytes:
    return transport.StatusMessageEncoder.encode(
        frame_length=transport.StatusMessageEncoder.ENCODED_LENGTH,
        session_id=setup.session_id,
        stream_id=STREAM,
        consumption_term_id=setup.initial_term_id,
        consumption_term_offset=offset,
        receiver_window=window,
        receiver_id=receiver_id,
    )


def nak(setup: Any, *, offset: int, length: int) -> bytes:
    return transport.NakEncoder.encode(
        frame_length=transport.NakEncoder.ENCODED_LENGTH,
        session_id=setup.session_id,
        stream_id=STREAM,
        term_id=setup.initial_term_id,
        term_offset=offset,
        length=length,
    )


def data(offset: int) -> bytes:
    header = transport.DataHeaderEncoder.encode(
        frame_length=FRAME_LENGTH,
        flags=transport.DataFlags.UNFRAGMENTED,
        term_offset=offset,
        session_id=SESSION,
        stream_id=STREAM,
        term_id=INITIAL_TERM,
    )
    return header + MESSAGE


@pytest.fixture
def stage() -> Iterator[Callable[..., Stage]]:
    worlds: list[SimulatedWorld] = []

    def start(properties: dict[str, str] | None = None) -> Stage:
        world = SimulatedWorld(seed=1)
        worlds.append(world)
        host = world.add_host(HERE[0], environ={}, properties={"aeron.term.buffer.length": "64k", **(properties or {})})
        return Stage(world, StreamClient(host, reads=False), world.network.open_port(PEER), [])

    yield start
    for world in worlds:
        world.close()


# ---- files


@pytest.mark.parametrize(("properties", "mtu"), [({}, 1408), ({"aeron.ipc.mtu.length": "4k"}, 4096)])
def test_a_log_within_the_machine_has_an_mtu_of_its_own(launch: Callable[..., Any], properties: dict[str, str], mtu: int) -> None:
    client = launch(properties=properties)
    found = []
    for channel in ("aeron:ipc", "aeron:udp?endpoint=127.0.0.1:9"):
        ready = client.take(CommandType.ON_PUBLICATION_READY, client.add_publication(channel, STREAM))
        with LogBuffers.map(ready.log_file) as log:
            found.append(log.mtu)
    assert found == [mtu, 1408]


# ---- sockets


@pytest.mark.parametrize(("properties", "is_allowed"), [({}, True), ({"aeron.udp.segmentation.offload": "false"}, False)])
def test_datagrams_are_cut_and_joined_by_the_kernel_when_it_may(
    launch: Callable[..., Any], properties: dict[str, str], is_allowed: bool
) -> None:
    system = Ports.system()
    specs: list[SocketSpec] = []

    def open_socket(spec: SocketSpec) -> DatagramPort:
        specs.append(spec)
        return system.open_socket(spec)

    client = launch(ports=replace(system, open_socket=open_socket), properties=properties)
    client.take(CommandType.ON_SUBSCRIPTION_READY, client.add_subscription("aeron:udp?endpoint=127.0.0.1:0", STREAM))
    client.take(CommandType.ON_PUBLICATION_READY, client.add_publication("aeron:udp?endpoint=127.0.0.1:9", STREAM))
    assert [(spec.cut, spec.join) for spec in specs] == [(is_allowed, is_allowed), (is_allowed, False)]


# ---- how far a publisher may go


@pytest.mark.parametrize(("properties", "taken"), [({}, 32), ({"aeron.ipc.publication.term.window.length": "8k"}, 8)])
def test_a_window_bounds_a_publisher_within_the_machine(stage: Callable[..., Stage], properties: dict[str, str], taken: int) -> None:
    opened = stage({"aeron.ipc.term.buffer.length": "64k", **properties})
    opened.client.subscribe("aeron:ipc")
    opened.client.publish("aeron:ipc")
    opened.run(SECOND, lambda: opened.client.has_image and opened.client.publication is not None)
    opened.run(MS)
    assert opened.offer() == taken


@pytest.mark.parametrize(("properties", "taken"), [({}, 32), ({"aeron.publication.term.window.length": "8k"}, 8)])
def test_a_window_bounds_a_publisher_to_the_network(stage: Callable[..., Stage], properties: dict[str, str], taken: int) -> None:
    opened = stage(properties)
    setup, source = opened.publish()
    opened.send(status(setup, window=TERM_LENGTH // 2), source)
    opened.run(MS)
    assert opened.offer() == taken


# ---- flow control


MDC = f"aeron:udp?control={HERE[0]}:{HERE[1]}|control-mode=dynamic"


@pytest.mark.parametrize(
    ("properties", "is_slowest"),
    [
        ({}, False),
        ({"aeron.unicast.FlowControl.supplier": "multicast_min"}, True),
        ({"aeron.unicast.FlowControl.supplier": "io.aeron.driver.MinMulticastFlowControlSupplier"}, True),
        ({"aeron.unicast.flow.control.strategy": "io.aeron.driver.MinMulticastFlowControl"}, True),
        ({"aeron.unicast.flow.control.strategy": "io.aeron.driver.MaxMulticastFlowControl"}, False),
        ({"aeron.multicast.FlowControl.supplier": "multicast_min"}, False),
    ],
)
def test_a_unicast_stream_waits_for_whom_the_options_say(stage: Callable[..., Stage], properties: dict[str, str], is_slowest: bool) -> None:
    opened = stage(properties)
    setup, source = opened.publish()
    for receiver_id, window in ((1, 8192), (2, 4096)):
        opened.send(status(setup, window=window, receiver_id=receiver_id), source)
        opened.run(MS)
    assert opened.values(CounterType.SND_LMT) == [4096 if is_slowest else 8192]
    assert opened.values(CounterType.FC_RECEIVERS) == ([2] if is_slowest else [])


@pytest.mark.parametrize(
    ("properties", "is_slowest"),
    [
        ({}, False),
        ({"aeron.multicast.FlowControl.supplier": "multicast_min"}, True),
        ({"aeron.multicast.FlowControl.supplier": "io.aeron.driver.MinMulticastFlowControlSupplier"}, True),
        ({"aeron.multicast.flow.control.strategy": "io.aeron.driver.MinMulticastFlowControl"}, True),
        ({"aeron.unicast.FlowControl.supplier": "multicast_min"}, False),
    ],
)
def test_a_group_waits_for_whom_the_options_say(stage: Callable[..., Stage], properties: dict[str, str], is_slowest: bool) -> None:
    opened = stage(properties)
    opened.client.publish(MDC)
    opened.run(SECOND, lambda: opened.client.publication is not None)
    # A receiver says that it is there; what it hears then is a SETUP.
    key = next(item.key for item in opened.client.counters.for_each() if item.type_id == CounterType.SND_POS)
    hello = transport.StatusMessageEncoder.encode(
        frame_length=transport.StatusMessageEncoder.ENCODED_LENGTH,
        flags=transport.SmFlags.SEND_SETUP,
        session_id=StreamCounterKeyDecoder(key).session_id,
        stream_id=STREAM,
        receiver_id=1,
    )
    opened.send(hello)
    opened.run(SECOND, lambda: opened.arrived)
    setup = transport.SetupDecoder(opened.arrived[0][0])
    for receiver_id, window in ((1, 8192), (2, 4096)):
        opened.send(status(setup, window=window, receiver_id=receiver_id))
        opened.run(MS)
    assert opened.values(CounterType.SND_LMT) == [4096 if is_slowest else 8192]
    assert opened.values(CounterType.FC_RECEIVERS) == ([2] if is_slowest else [])


# ---- retransmission


def sent(opened: Stage, count: int) -> tuple[Any, tuple[str, int]]:
    """Publish so many messages, which all go out; return the SETUP and where it came from."""
    setup, source = opened.publish()
    left = count
    while left:
        opened.send(status(setup, window=TERM_LENGTH // 2, offset=(count - left) * FRAME_LENGTH), source)
        opened.run(MS)
        taken = opened.offer(left)
        assert taken > 0
        left -= taken
        opened.run(MS)
    opened.arrived.clear()
    return setup, source


@pytest.mark.parametrize(("properties", "delay_ns"), [({}, 0), ({"aeron.retransmit.unicast.delay": "50ms"}, 50 * MS)])
def test_a_range_is_sent_again_after_the_delay(stage: Callable[..., Stage], properties: dict[str, str], delay_ns: int) -> None:
    opened = stage(properties)
    setup, source = sent(opened, 3)
    opened.send(nak(setup, offset=FRAME_LENGTH, length=FRAME_LENGTH), source)
    elapsed_ns = opened.run(SECOND, lambda: [packet for packet, _ in opened.arrived if len(packet) == FRAME_LENGTH])
    assert delay_ns <= elapsed_ns < delay_ns + MS
    assert transport.DataHeaderDecoder(opened.take(FrameType.DATA)[0]).term_offset == FRAME_LENGTH


@pytest.mark.parametrize(("properties", "octets"), [({}, 40 * FRAME_LENGTH), ({"aeron.unicast.flow.control.rrwm": "1"}, TERM_LENGTH // 2)])
def test_one_nak_asks_for_so_many_windows_at_most(stage: Callable[..., Stage], properties: dict[str, str], octets: int) -> None:
    opened = stage(properties)
    setup, source = sent(opened, 40)
    opened.send(nak(setup, offset=0, length=40 * FRAME_LENGTH), source)
    opened.run(5 * MS)
    assert opened.system(SystemCounter.RETRANSMITTED_BYTES) == octets


# ---- images


@pytest.mark.parametrize(("properties", "comes_again"), [({}, True), ({"aeron.rejoin.stream": "false"}, False)])
def test_a_stream_that_ended_is_joined_again(stage: Callable[..., Stage], properties: dict[str, str], comes_again: bool) -> None:
    opened = stage({"aeron.image.liveness.timeout": "1s", **properties})
    opened.subscribe()
    opened.set_up()
    first = opened.client.image
    assert first is not None
    opened.run(5 * SECOND)
    assert not opened.client.has_image
    opened.set_up()
    assert opened.client.has_image == comes_again
    assert opened.client.image is None or opened.client.image.correlation_id != first.correlation_id


@pytest.mark.parametrize(
    ("properties", "is_member"),
    [({}, 0), ({"aeron.receiver.group.consideration": "true"}, 1), ({"aeron.receiver.group.consideration": "false"}, 0)],
)
def test_a_receiver_counts_itself_one_of_a_group(stage: Callable[..., Stage], properties: dict[str, str], is_member: int) -> None:
    opened = stage({"aeron.nak.multicast.max.backoff": "80ms", **properties})
    opened.subscribe()
    opened.set_up()
    assert opened.client.image_log().metadata_fields()["group"] == is_member
    opened.take(FrameType.SM)
    opened.send(data(FRAME_LENGTH))
    # Alone it asks at once for what it misses; in a group another may have asked.
    elapsed_ns = opened.run(SECOND, lambda: any(transport.FrameHeaderDecoder(packet).type == FrameType.NAK for packet, _ in opened.arrived))
    assert (elapsed_ns > MS) == bool(is_member)
    assert elapsed_ns < 100 * MS


def test_cubic_is_no_slower_than_tcp_when_it_is_told(stage: Callable[..., Stage]) -> None:
    windows = []
    for mode in ("false", "true"):
        opened = stage({"aeron.CongestionControl.supplier": "cubic", "aeron.CubicCongestionControl.tcpMode": mode})
        opened.subscribe()
        opened.set_up(term_length=1 << 20)
        opened.send(data(FRAME_LENGTH))
        opened.run(30 * MS)
        # Of the two indicators the second is the window.
        windows.append(opened.values(CounterType.PER_IMAGE)[1])
    slow, quick = windows
    assert 0 < slow < quick


# ---- long cycles


_CYCLES = {
    "conductor": SystemCounter.CONDUCTOR_CYCLE_TIME_THRESHOLD_EXCEEDED,
    "sender": SystemCounter.SENDER_CYCLE_TIME_THRESHOLD_EXCEEDED,
    "receiver": SystemCounter.RECEIVER_CYCLE_TIME_THRESHOLD_EXCEEDED,
}


@pytest.mark.parametrize("role", _CYCLES)
def test_a_cycle_longer_than_the_threshold_is_counted(stage: Callable[..., Stage], role: str) -> None:
    opened = stage({f"aeron.driver.{role}.cycle.threshold": "3ms"})
    opened.client.host.driver.invoker.invoke()
    before = {name: opened.system(counter) for name, counter in _CYCLES.items()}
    for advance_ns in (2 * MS, 4 * MS, 3 * MS, 5 * MS):
        opened.world.clock.advance(advance_ns)
        opened.client.host.driver.invoker.invoke()
    assert {name: opened.system(counter) - before[name] for name, counter in _CYCLES.items()} == {
        name: 2 if name == role else 0 for name in _CYCLES
    }
    labels = {name: opened.client.counters.label(counter).rpartition("threshold=")[2] for name, counter in _CYCLES.items()}
    assert {name: label.split()[0] for name, label in labels.items()} == {name: "3ms" if name == role else "100ms" for name in _CYCLES}


# ---- induced loss


def heard(opened: Stage, count: int = 20) -> list[bool]:
    """Return which of so many status messages a publication's endpoint hears."""
    setup, source = opened.publish()
    found = []
    for _ in range(count):
        before = opened.system(SystemCounter.STATUS_MESSAGES_RECEIVED)
        opened.send(status(setup, window=4096), source)
        opened.run(MS)
        found.append(opened.system(SystemCounter.STATUS_MESSAGES_RECEIVED) > before)
    return found


@pytest.mark.parametrize(("rate", "share"), [("0.0", 1), ("1.0", 0)])
def test_what_senders_get_back_is_lost_at_the_rate(stage: Callable[..., Stage], rate: str, share: int) -> None:
    assert sum(heard(stage({"aeron.debug.send.control.loss.rate": rate}))) == 20 * share


def test_what_senders_get_back_is_lost_by_the_seed(stage: Callable[..., Stage]) -> None:
    def lossy(seed: int) -> list[bool]:
        return heard(stage({"aeron.debug.send.control.loss.rate": "0.5", "aeron.debug.send.control.loss.seed": str(seed)}))

    first = lossy(7)
    assert 0 < sum(first) < len(first)
    assert lossy(7) == first
    assert lossy(8) != first
