"""Drivers that tell each other their names, conductor and channels included, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import Mock

import pytest

from aerowire.base.errors import ConfigurationError
from aerowire.base.socket_address import SocketAddress
from aerowire.codecs.flyweights.commands import AddPublicationEncoder, AddSubscriptionEncoder, CommandType, ErrorResponseDecoder
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.names.driver_names import listen_address
from aerowire.simulation.host import SimulatedHost
from aerowire.simulation.world import SimulatedWorld

MS = 1_000_000
SECOND = 1_000_000_000
HOSTS = {"here": "10.0.0.5"}
LENGTHS = {
    "counters_buffer_length": "1m",
    "term_buffer_length": "64k",
    "driver_resolver_self_resolution_interval_ns": "20ms",
    "driver_resolver_neighbor_resolution_interval_ns": "40ms",
    "driver_resolver_neighbor_timeout_ns": "200ms",
    "driver_resolver_bootstrap_neighbor_resolution_interval_ns": "100ms",
}


def add(world: SimulatedWorld, number: int, *, bootstrap: str = "", interface: str | None = None, **options: object) -> SimulatedHost:
    address = f"10.0.0.{number}"
    return world.add_host(
        address,
        driver_resolver_name=f"node-{number}",
        driver_resolver_interface=f"{address}:8050" if interface is None else interface,
        driver_resolver_bootstrap_neighbor=bootstrap,
        **{**LENGTHS, **options},
    )


def shown(host: SimulatedHost) -> dict[str, int]:
    """Label -> value of the resolver's counters."""
    types = {CounterType.RESOLVER_NEIGHBORS, CounterType.RESOLVER_CACHE_ENTRIES, CounterType.BOOTSTRAP_NEIGHBOR}
    return {info.label: info.value for info in host.cnc.counters_manager().for_each() if info.type_id in types}


def value_of(host: SimulatedHost, label: str) -> Callable[[], int]:
    """Return what reads the counter of that label, without looking for it each time."""
    counters = host.cnc.counters_manager()
    (counter_id,) = [info.counter_id for info in counters.for_each() if info.label == label]
    return lambda: counters.value(counter_id)


def mute(host: SimulatedHost) -> None:
    """Let a driver's name resolver hear and say nothing from now on."""
    names = host.driver.conductor._names
    assert names is not None
    names._send = Mock()  # type: ignore[method-assign]


class Commands:
    """A client that adds one thing and keeps what the driver answers."""

    def __init__(self, host: SimulatedHost) -> None:
        self.host = host
        self.receiver = host.cnc.to_clients_receiver()
        self.client_id = host.cnc.to_driver.next_correlation_id()
        self.answers: list[tuple[int, bytes]] = []

    def publish(self, channel: str) -> None:
        ring = self.host.cnc.to_driver
        body = AddPublicationEncoder.encode(
            client_id=self.client_id, correlation_id=ring.next_correlation_id(), stream_id=10, channel=channel
        )
        ring.write(CommandType.ADD_PUBLICATION, body)

    def subscribe(self, channel: str) -> None:
        ring = self.host.cnc.to_driver
        body = AddSubscriptionEncoder.encode(
            client_id=self.client_id,
            correlation_id=ring.next_correlation_id(),
            registration_correlation_id=-1,
            stream_id=10,
            channel=channel,
        )
        ring.write(CommandType.ADD_SUBSCRIPTION, body)

    def kinds(self) -> list[int]:
        self.answers += self.receiver.poll(20)
        return [kind for kind, _ in self.answers]


def test_counters_tell_who_is_known(world: SimulatedWorld) -> None:
    one = add(world, 1, bootstrap="10.0.0.2:8050")
    two = add(world, 2, bootstrap="10.0.0.1:8050")
    # The label gets the address with the first look-up.
    world.run(MS)
    reached = value_of(one, "Bootstrap neighbor: name=10.0.0.2:8050 resolved=10.0.0.2:8050")
    assert world.run(SECOND, until=lambda: reached() == 1)
    assert shown(one) == {
        "Resolver neighbors: bound 10.0.0.1:8050": 1,
        "Resolver cache entries: name=node-1": 1,
        "Bootstrap neighbor: name=10.0.0.2:8050 resolved=10.0.0.2:8050": 1,
    }
    assert shown(two)["Resolver neighbors: bound 10.0.0.2:8050"] == 1


def test_a_third_is_known_by_hearsay_and_forgotten_when_it_is_gone(world: SimulatedWorld) -> None:
    one = add(world, 1, bootstrap="10.0.0.2:8050")
    add(world, 2)
    three = add(world, 3, bootstrap="10.0.0.2:8050")
    neighbors, entries = (value_of(one, f"Resolver {what}") for what in ("neighbors: bound 10.0.0.1:8050", "cache entries: name=node-1"))
    assert world.run(SECOND, until=lambda: neighbors() == 2)
    assert shown(one)["Resolver cache entries: name=node-1"] == 2
    mute(three)
    started = world.clock.now_ns()
    assert world.run(2 * SECOND, until=lambda: entries() == 1)
    # Its last word was up to an interval old, and went round by the driver between.
    assert 180 * MS <= world.clock.now_ns() - started <= 400 * MS


def test_a_channel_may_name_a_driver(world: SimulatedWorld) -> None:
    one = add(world, 1, bootstrap="10.0.0.2:8050")
    two = add(world, 2, interface="0.0.0.0:8050")
    entries = value_of(one, "Resolver cache entries: name=node-1")
    assert world.run(SECOND, until=lambda: entries() == 1)
    publisher, subscriber = Commands(one), Commands(two)
    subscriber.subscribe("aeron:udp?endpoint=10.0.0.2:40456")
    publisher.publish("aeron:udp?endpoint=node-2:40456")
    assert world.run(SECOND, until=lambda: CommandType.ON_AVAILABLE_IMAGE in subscriber.kinds())
    assert CommandType.ON_ERROR not in publisher.kinds()


def test_a_driver_knows_itself_and_asks_below_for_what_no_driver_is_called(world: SimulatedWorld) -> None:
    world.names["elsewhere"] = "10.0.0.9"
    one = add(world, 1)
    resolve = one.driver.conductor.core.ports.resolver
    assert [resolve(name) for name in ("node-1", "elsewhere", "nowhere")] == ["10.0.0.1", "10.0.0.9", None]
    client = Commands(one)
    client.publish("aeron:udp?endpoint=nowhere:40456")
    assert world.run(SECOND, until=lambda: CommandType.ON_ERROR in client.kinds())
    assert ErrorResponseDecoder(client.answers[-1][1]).error_code == ErrorCode.UNKNOWN_HOST


def test_a_bootstrap_neighbour_is_looked_up_again_until_it_is_heard(world: SimulatedWorld) -> None:
    one = add(world, 1, bootstrap="seed:8050,10.0.0.3:8050")
    world.run(50 * MS)
    assert shown(one)["Bootstrap neighbor: name=seed:8050 resolved="] == 0
    assert one.cnc.counters_reader().value(SystemCounter.ERRORS) == 1
    reached = value_of(one, "Bootstrap neighbor: name=seed:8050 resolved=")
    world.names["seed"] = "10.0.0.2"
    add(world, 2)
    assert world.run(SECOND, until=lambda: reached() == 1)
    assert shown(one)["Bootstrap neighbor: name=seed:8050 resolved=10.0.0.2:8050"] == 1
    assert shown(one)["Bootstrap neighbor: name=10.0.0.3:8050 resolved=10.0.0.3:8050"] == 0


def test_a_tag_finds_a_channel_whose_name_has_moved(world: SimulatedWorld) -> None:
    world.names["far"] = "10.0.0.2"
    one = add(world, 1)
    client = Commands(one)
    channel = "aeron:udp?endpoint=far:40456|tags=7"
    client.publish(channel)
    assert world.run(SECOND, until=lambda: CommandType.ON_PUBLICATION_READY in client.kinds())
    world.names["far"] = "10.0.0.3"
    changes = one.cnc.counters_reader()
    assert world.run(10 * SECOND, until=lambda: changes.value(SystemCounter.RESOLUTION_CHANGES) == 1)
    client.publish(f"{channel}|linger=1s")
    assert world.run(SECOND, until=lambda: client.kinds().count(CommandType.ON_PUBLICATION_READY) == 2)
    assert CommandType.ON_ERROR not in client.kinds()


def test_a_bad_frame_is_counted_and_dropped(world: SimulatedWorld) -> None:
    one = add(world, 1)
    stranger = world.network.open_port(("10.0.0.9", 1))
    stranger.send_datagrams([(b"\x16\0\0\0\0\0\7\0" + bytes(13), ("10.0.0.1", 8050))])
    assert world.run(SECOND, until=lambda: one.cnc.counters_reader().value(SystemCounter.INVALID_PACKETS) == 1)
    assert shown(one)["Resolver cache entries: name=node-1"] == 0


def test_a_slow_name_is_measured(world: SimulatedWorld) -> None:
    one = add(world, 1, name_resolver_threshold_ns="1s")
    core = one.driver.conductor.core
    one.driver.conductor._names._below = lambda _host: world.clock.advance(3 * SECOND)  # type: ignore[union-attr]
    assert core.ports.resolver("nowhere") is None
    value = one.cnc.counters_reader().value
    assert value(SystemCounter.NAME_RESOLVER_MAX_TIME) == 3 * SECOND
    assert value(SystemCounter.NAME_RESOLVER_TIME_THRESHOLD_EXCEEDED) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1:8050", SocketAddress("10.0.0.1", 8050)),
        ("10.0.0.1", SocketAddress("10.0.0.1", 0)),
        ("10.0.0.1:8050/24", SocketAddress("10.0.0.1", 8050)),
        ("[::1]:8050", SocketAddress("::1", 8050)),
        ("[::1]", SocketAddress("::1", 0)),
        ("here:1", SocketAddress("10.0.0.5", 1)),
    ],
)
def test_reads_where_to_listen(text: str, expected: SocketAddress) -> None:
    assert listen_address(text, HOSTS.get) == expected


def test_refuses_to_listen_nowhere() -> None:
    with pytest.raises(ConfigurationError, match="interface is not an address"):
        listen_address("there:1", lambda _host: None)


def test_a_frame_that_nobody_takes_is_a_short_send(world: SimulatedWorld) -> None:
    one = add(world, 1, bootstrap="10.0.0.2:8050")
    names = one.driver.conductor._names
    assert names is not None
    names._port = _TakesNothing()  # type: ignore[assignment]
    world.run(15 * MS)
    assert one.cnc.counters_reader().value(SystemCounter.SHORT_SENDS) == 1


@pytest.mark.parametrize(("count", "entries", "taken"), [(5, 3_500, 1), (300, 1, 256), (300, 8, 121)])
def test_a_look_takes_in_bytes_and_datagrams_up_to_a_bound(world: SimulatedWorld, count: int, entries: int, taken: int) -> None:
    names = add(world, 1).driver.conductor._names
    assert names is not None
    entry = bytes([1, 0]) + (8050).to_bytes(2, "little") + bytes(4) + bytes([10, 0, 0, 2]) + b"\x02\0ab"
    packet = (8 + entries * len(entry)).to_bytes(4, "little") + b"\0\0\x07\0" + entry * entries
    names._port = port = _Gives([(packet, ("10.0.0.2", 8050), 0)] * count)  # type: ignore[assignment]
    now_ns = world.clock.now_ns()
    names.do_work(now_ns)
    assert count - len(port.waiting) == taken
    names.do_work(now_ns + 10 * MS)
    assert count - len(port.waiting) == min(2 * taken, count)


class _TakesNothing:
    def receive_datagrams(self, _count: int, _batch: object) -> list[object]:
        return []

    def send_datagrams(self, _datagrams: object) -> int:
        return 0

    def close(self) -> None:
        """Nothing is held."""


class _Gives(_TakesNothing):
    def __init__(self, waiting: list[object]) -> None:
        self.waiting = waiting

    def receive_datagrams(self, count: int, _batch: object) -> list[object]:
        taken, self.waiting = self.waiting[:count], self.waiting[count:]
        return taken
