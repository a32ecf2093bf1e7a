"""Sockets of a simulated network: who hears what, partitions, hosts that go and move, groups, and counts that add up."""

from __future__ import annotations

import pytest

from aerowire.base.errors import ConfigurationError, PortInUseError, SocketError, WrongTypeError
from aerowire.simulation.link_faults import LinkFaults
from aerowire.simulation.links import LossCause
from aerowire.simulation.network import Inbox, SimulatedNetwork, SimulatedPort
from aerowire.simulation.partitions import Partition, PartitionKind
from aerowire.system.clock import ManualClock
from tests.simulation.network_pair import BATCH, HERE, MS, THERE, US, NetworkPair

GROUP = ("224.20.30.39", 40456)
ELSEWHERE = "10.0.0.3"


@pytest.fixture
def pair() -> NetworkPair:
    return NetworkPair()


def received(port: SimulatedPort) -> list[bytes]:
    return [payload for payload, _, _ in port.receive_datagrams(64, BATCH)]


# -- Sockets -----------------------------------------------------------------------------------------------------------


def test_a_datagram_tells_where_it_comes_from(pair: NetworkPair) -> None:
    pair.send(b"hello")
    pair.clock.advance(10 * US)
    assert pair.there.receive_datagrams() == [(b"hello", (HERE, 7000), 0)]


def test_a_datagram_that_nobody_hears_is_lost_and_counted(pair: NetworkPair) -> None:
    pair.here.send_datagrams([(b"no socket", (THERE, 7001)), (b"no host", (ELSEWHERE, 7000))])
    pair.clock.advance(MS)
    assert pair.network.counts.lost[LossCause.UNREACHABLE] == 2


def test_a_connected_socket_hears_its_peer_alone(pair: NetworkPair) -> None:
    connected = pair.network.open_port((THERE, 7001), (HERE, 7000))
    stranger = pair.network.open_port((ELSEWHERE, 7000))
    for sender in (pair.here, stranger):
        sender.send_datagrams([(b"from " + str(sender.local_address).encode(), (THERE, 7001))])
    pair.clock.advance(MS)
    assert received(connected) == [b"from ('10.0.0.1', 7000)"]
    assert pair.network.counts.lost[LossCause.UNREACHABLE] == 1


def test_a_socket_that_was_opened_in_time_hears_what_was_sent_before(pair: NetworkPair) -> None:
    pair.here.send_datagrams([(b"early", (THERE, 7001))])
    late = pair.network.open_port((THERE, 7001))
    pair.clock.advance(MS)
    assert received(late) == [b"early"]


def test_a_closed_socket_hears_nothing_and_frees_its_port(pair: NetworkPair) -> None:
    pair.send(b"in flight")
    pair.there.close()
    assert pair.there.is_closed
    again = pair.network.open_port((THERE, 7000))
    pair.clock.advance(MS)
    assert received(again) == [b"in flight"]
    assert pair.there.receive_datagrams() == []
    with pytest.raises(SocketError):
        pair.there.send_datagrams([(b"closed", (HERE, 7000))])


def test_ports_are_taken_once_and_found_free(pair: NetworkPair) -> None:
    with pytest.raises(PortInUseError):
        pair.network.open_port((HERE, 7000))
    with pytest.raises(PortInUseError):
        pair.network.open_port(("0.0.0.0", 7000), host=HERE)
    first, second = (pair.network.open_port((HERE, 0)).local_address for _ in range(2))
    assert first is not None
    assert second is not None
    assert first[1] != second[1] >= 49_152
    assert pair.network.open_port((ELSEWHERE, 7000)).local_address == (ELSEWHERE, 7000)


def test_free_ports_begin_again_when_all_were_given(pair: NetworkPair) -> None:
    for _ in range(1 << 15):
        pair.network.open_port((HERE, 0)).close()
    address = pair.network.open_port((HERE, 0)).local_address
    assert address is not None
    assert address[1] >= 49_152


def test_a_wildcard_hears_every_address_of_its_host() -> None:
    network = SimulatedNetwork(clock := ManualClock(), seed=1)
    wildcard = network.open_port(("0.0.0.0", 7000), host=HERE)
    local = network.open_port(("127.0.0.1", 7001), host=HERE)
    other = network.open_port((THERE, 7000))
    local.send_datagrams([(b"from itself", ("127.0.0.1", 7000))])
    other.send_datagrams([(b"from another host", (HERE, 7000))])
    wildcard.send_datagrams([(b"answer", ("127.0.0.1", 7001))])
    clock.advance(MS)
    assert received(wildcard) == [b"from itself", b"from another host"]
    assert wildcard.local_address == (HERE, 7000)
    assert local.receive_datagrams() == [(b"answer", ("127.0.0.1", 7000), 0)]


def test_every_host_has_a_loopback_of_its_own() -> None:
    network = SimulatedNetwork(clock := ManualClock(), seed=1)
    first, second = (network.open_port(("127.0.0.1", 7000), host=host) for host in (HERE, THERE))
    network.set_faults(loss=1.0)
    network.open_port((HERE, 0), host=HERE).send_datagrams([(b"local", ("127.0.0.1", 7000))])
    clock.advance(MS)
    assert (received(first), received(second)) == ([b"local"], [])


def test_an_address_of_another_host_cannot_be_bound(pair: NetworkPair) -> None:
    with pytest.raises(SocketError, match="cannot bind"):
        pair.network.open_port((THERE, 7005), host=HERE)
    with pytest.raises(ConfigurationError, match="a wildcard belongs to no host"):
        pair.network.open_port(("0.0.0.0", 7005))


def test_a_socket_has_room_for_its_buffer_and_for_4096_datagrams() -> None:
    network = SimulatedNetwork(clock := ManualClock(), seed=1)
    small, large = network.open_port((THERE, 1), receive_buffer_length=2_500), network.open_port((THERE, 2))
    sender = network.open_port((HERE, 7000))
    sender.send_datagrams([(bytes(1_000), (THERE, 1))] * 3 + [(bytes(500), (THERE, 1))])
    for _ in range(5):
        sender.send_datagrams([(b"", (THERE, 2))] * 1_000)
    clock.advance(MS)
    assert [len(payload) for payload in received(small)] == [1_000, 1_000, 500]
    assert network.counts.lost[LossCause.BUFFER] == 1 + 904
    assert sum(len(large.receive_datagrams(1_000, BATCH)) for _ in range(100)) == 4_096
    # What was read has made room.
    sender.send_datagrams([(bytes(2_500), (THERE, 1))])
    clock.advance(MS)
    assert len(received(small)) == 1


def test_an_inbox_counts_what_comes_and_what_is_unread(pair: NetworkPair) -> None:
    inbox = Inbox()
    sockets = [pair.network.open_port((THERE, number), inbox=inbox) for number in (1, 2)]
    for number in (1, 2, 2):
        pair.here.send_datagrams([(b"x", (THERE, number))])
    assert (inbox.arrivals, inbox.unread) == (0, 0)
    pair.clock.advance(MS)
    assert pair.take() == []
    assert (inbox.arrivals, inbox.unread) == (3, 3)
    received(sockets[0])
    assert (inbox.arrivals, inbox.unread) == (3, 2)
    sockets[1].close()
    assert (inbox.arrivals, inbox.unread) == (3, 0)


def test_addresses_of_both_families_go_their_own_way() -> None:
    network = SimulatedNetwork(clock := ManualClock(), seed=1)
    four, six = network.open_port((HERE, 7000)), network.open_port(("fd00::1", 7000))
    sender = network.open_port(("fd00::2", 7000))
    sender.send_datagrams([(b"six", ("fd00::1", 7000)), (b"loopback", ("::1", 7000))])
    clock.advance(MS)
    assert six.receive_datagrams() == [(b"six", ("fd00::2", 7000), 0)]
    assert received(four) == []
    assert network.links.hosts == (HERE, "fd00::1", "fd00::2")


# -- Groups ------------------------------------------------------------------------------------------------------------


def group(network: SimulatedNetwork, hosts: int) -> list[SimulatedPort]:
    return [network.open_port((f"10.0.1.{number}", 0), None, GROUP) for number in range(1, hosts + 1)]


def test_every_member_has_losses_and_delays_of_its_own() -> None:
    network = SimulatedNetwork(clock := ManualClock(), seed=1, faults=LinkFaults(loss=0.3, jitter_ns=MS))
    members = group(network, 4)
    sender = network.open_port((HERE, 7000))
    heard: list[list[bytes]] = [[] for _ in members]
    for number in range(10_000):
        sender.send_datagrams([(number.to_bytes(4, "little"), GROUP)])
        clock.advance(20 * MS)
        for member, into in zip(members, heard, strict=True):
            into.extend(received(member))
    assert all(6_800 < len(each) < 7_200 for each in heard)
    # Two members miss the same packet as often as chance has it.
    missed = [set(range(10_000)) - {int.from_bytes(payload, "little") for payload in each} for each in heard]
    assert all(800 < len(missed[0] & other) < 1_000 for other in missed[1:])
    assert network.sent == 10_000
    assert network.counts.sent == 40_000


def test_a_group_is_heard_by_its_members_on_the_own_host_too() -> None:
    network = SimulatedNetwork(clock := ManualClock(), seed=1)
    member = network.open_port((HERE, 0), None, GROUP)
    stranger = network.open_port((HERE, GROUP[1]))
    other_group = network.open_port((THERE, 0), None, ("224.20.30.41", GROUP[1]))
    network.open_port((HERE, 7000)).send_datagrams([(b"to all", GROUP)])
    clock.advance(MS)
    assert [received(port) for port in (member, stranger, other_group)] == [[b"to all"], [], []]


def test_members_of_one_host_share_what_the_link_brings() -> None:
    network = SimulatedNetwork(clock := ManualClock(), seed=1, faults=LinkFaults(loss=0.5))
    members = [network.open_port((THERE, 0), None, GROUP) for _ in range(3)]
    sender = network.open_port((HERE, 7000))
    sender.send_datagrams([(bytes([number]), GROUP) for number in range(200)])
    clock.advance(MS)
    first, *others = ([payload for _ in range(4) for payload in received(member)] for member in members)
    assert 70 < len(first) < 130
    assert others == [first, first]
    counts = network.counts
    assert (counts.sent, counts.copied, counts.delivered) == (200, 2 * len(first), 3 * len(first))


def test_what_is_sent_to_a_group_without_members_is_lost_once() -> None:
    network = SimulatedNetwork(clock := ManualClock(), seed=1)
    network.open_port((HERE, 7000)).send_datagrams([(b"to nobody", GROUP)])
    clock.advance(MS)
    assert (network.counts.sent, network.counts.lost[LossCause.UNREACHABLE]) == (1, 1)


def test_a_member_that_leaves_in_time_hears_nothing() -> None:
    network = SimulatedNetwork(clock := ManualClock(), seed=1)
    staying, leaving = group(network, 2)
    network.open_port((HERE, 7000)).send_datagrams([(b"to all", GROUP)])
    leaving.close()
    clock.advance(MS)
    assert received(staying) == [b"to all"]
    assert network.counts.lost[LossCause.UNREACHABLE] == 1


# -- Partitions and hosts ----------------------------------------------------------------------------------------------


def both_ways(pair: NetworkPair) -> tuple[int, int]:
    """Send a packet each way; return how many arrive there and here."""
    pair.send(b"there")
    pair.there.send_datagrams([(b"here", (HERE, 7000))])
    pair.clock.advance(MS)
    return len(pair.take()), len(received(pair.here))


def test_nothing_passes_a_partition_until_it_heals(pair: NetworkPair) -> None:
    partition = Partition((HERE,), (THERE,))
    pair.network.partition(partition)
    assert list(pair.network.partitions) == [partition]
    assert both_ways(pair) == (0, 0)
    assert pair.network.counts.lost[LossCause.PARTITION] == 2
    pair.network.heal()
    assert not pair.network.partitions
    assert both_ways(pair) == (1, 1)


def test_a_one_way_partition_lets_the_other_way_pass(pair: NetworkPair) -> None:
    pair.network.partition(Partition((HERE,), (THERE,), one_way=True))
    assert both_ways(pair) == (0, 1)


def test_what_is_in_flight_is_lost_unless_the_partition_heals_before_it_arrives() -> None:
    pair = NetworkPair(latency_ns=MS)
    pair.send(b"lost")
    pair.network.partition(Partition((HERE,), (THERE,)))
    pair.clock.advance(MS)
    assert pair.take() == []
    pair.network.heal()
    pair.send(b"lucky")
    pair.network.partition(Partition((HERE,), (THERE,)))
    pair.clock.advance(MS // 2)
    pair.network.heal()
    pair.clock.advance(MS // 2)
    assert pair.take() == [b"lucky"]
    assert pair.network.counts.lost[LossCause.PARTITION] == 1


def test_partitions_add_up(pair: NetworkPair) -> None:
    there, back = (Partition(*sides, one_way=True) for sides in (((HERE,), (THERE, ELSEWHERE)), ((THERE,), (HERE,))))
    for partition in (there, back, there):
        pair.network.partition(partition)
    pair.network.heal(back)
    assert both_ways(pair) == (0, 1)
    pair.network.heal(there)
    assert both_ways(pair) == (1, 1)
    with pytest.raises(ConfigurationError, match="no such partition"):
        pair.network.heal(there)
    with pytest.raises(WrongTypeError, match="partition has the wrong type"):
        pair.network.partition(((HERE,), (THERE,)))  # type: ignore[arg-type]


def test_the_busiest_host_is_the_one_with_most_packets_since_it_was_asked_for(pair: NetworkPair) -> None:
    third = pair.network.open_port((ELSEWHERE, 7000))
    for _ in range(10):
        pair.there.send_datagrams([(b"x", (HERE, 7000)), (b"x", (ELSEWHERE, 7000))])
    pair.clock.advance(MS)
    received(third)
    assert pair.network.draw_partition(PartitionKind.BUSIEST_ISOLATED).sources == (THERE,)
    third.send_datagrams([(b"x", (HERE, 7000))] * 3)
    assert pair.network.draw_partition(PartitionKind.BUSIEST_ISOLATED).sources == (ELSEWHERE,)


def test_partitions_are_drawn_of_hosts_with_sockets_or_of_those_given(pair: NetworkPair) -> None:
    pair.here.send_datagrams([(b"x", ("10.0.0.99", 1)), (b"x", GROUP)])
    everyone = pair.network.draw_partition(PartitionKind.HALVES)
    assert sorted(everyone.sources + everyone.destinations) == [HERE, THERE]
    some = pair.network.draw_partition(PartitionKind.ONE_ISOLATED, hosts=[ELSEWHERE, "10.0.0.4"])
    assert sorted(some.sources + some.destinations) == [ELSEWHERE, "10.0.0.4"]
    with pytest.raises(WrongTypeError, match="hosts has the wrong type"):
        pair.network.draw_partition(PartitionKind.HALVES, hosts={HERE, THERE})  # type: ignore[arg-type]


def test_a_host_that_is_disconnected_neither_sends_nor_hears(pair: NetworkPair) -> None:
    pair.send(b"in flight")
    pair.network.disconnect(THERE)
    assert both_ways(pair) == (0, 0)
    assert pair.network.counts.lost[LossCause.CUT] == 3
    pair.network.reconnect(THERE)
    assert both_ways(pair) == (1, 1)


def test_a_socket_whose_cable_is_out_neither_sends_nor_hears(pair: NetworkPair) -> None:
    pair.there.cut()
    assert both_ways(pair) == (0, 0)
    pair.there.cut(False)
    assert both_ways(pair) == (1, 1)
    assert pair.network.counts.lost[LossCause.CUT] == 2


def test_a_host_moves_to_another_address_with_its_links_and_wildcards(pair: NetworkPair) -> None:
    network = pair.network
    wildcard = network.open_port(("0.0.0.0", 8000), host=THERE)
    network.links.set(HERE, THERE, LinkFaults(latency_ns=3 * MS))
    pair.here.send_datagrams([(b"to the old address", (THERE, 8000))])
    network.move_host(THERE, "10.0.0.9")
    assert wildcard.local_address == ("10.0.0.9", 8000)
    assert network.links.get(HERE, "10.0.0.9").latency_ns == 3 * MS
    pair.here.send_datagrams([(b"to the new address", ("10.0.0.9", 8000))])
    pair.clock.advance(3 * MS)
    assert received(wildcard) == [b"to the new address"]
    wildcard.send_datagrams([(b"answer", (HERE, 7000))])
    with pytest.raises(SocketError, match="send failed"):
        pair.there.send_datagrams([(b"from the old address", (HERE, 7000))])
    pair.clock.advance(MS)
    assert pair.here.receive_datagrams() == [(b"answer", ("10.0.0.9", 8000), 0)]
    assert network.links.hosts == (HERE, "10.0.0.9")


def test_a_host_moves_to_no_address_of_another_one(pair: NetworkPair) -> None:
    with pytest.raises(ConfigurationError, match="the address is in use"):
        pair.network.move_host(HERE, THERE)
    pair.network.move_host(HERE, HERE)
    assert both_ways(pair) == (1, 1)


# -- Properties --------------------------------------------------------------------------------------------------------
