"""UDP ports over the loopback interface, the poller over them, and addresses."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Iterator

import pytest

from aerowire.base.address import address_text, equals, is_multicast, parse_and_return
from aerowire.base.errors import ClosedError, PortInUseError, SocketError
from aerowire.base.ports import DatagramBatch, DatagramPort
from aerowire.system.datagrams import UdpPort
from aerowire.system.poller import PortPoller
from aerowire.system.udp import open_udp, probe_socket_buffers

LOCAL = ("127.0.0.1", 0)
SO_NO_CHECK = 11  # asm-generic/socket.h: Python does not name it


def arrived(port: UdpPort, count: int) -> list[tuple[bytes, tuple[str, int] | None, int]]:
    """Collect `count` datagrams; the loopback delivers at once, the wait is only for a loaded machine."""
    out = port.receive_datagrams(count)
    while len(out) < count and select.select([port], [], [], 5)[0]:
        out += port.receive_datagrams(count - len(out))
    return out


def bound(port: UdpPort) -> tuple[str, int]:
    address = port.local_address
    assert address is not None
    return address


def send_row(port: UdpPort, payloads: list[bytes]) -> int:
    """Send payloads to the port's peer; they lie one behind the other."""
    return port.send_datagrams([(payload, None) for payload in payloads])


@pytest.fixture
def pair() -> Iterator[tuple[UdpPort, UdpPort]]:
    with open_udp(bind=LOCAL) as left, open_udp(bind=LOCAL) as right:
        yield left, right


def test_batches_longer_than_a_system_call_arrive_whole(pair: tuple[UdpPort, UdpPort]) -> None:
    left, right = pair
    sent = [(b"%d" % index, right.local_address) for index in range(150)]
    assert left.send_datagrams(sent) == 150
    assert arrived(right, 150) == [(payload, left.local_address, 0) for payload, _ in sent]
    assert right.receive_datagrams() == []
    assert left.short_sends == 0


def test_all_addresses_of_ipv6_are_those_of_ipv4_too(pair: tuple[UdpPort, UdpPort]) -> None:
    left, _ = pair
    try:
        everywhere = open_udp(bind=("::", 0))
    except SocketError as error:
        pytest.skip(f"no IPv6: {error}")
    with everywhere:
        assert left.send_datagrams([(b"there", ("127.0.0.1", bound(everywhere)[1]))]) == 1
        ((payload, source, _),) = arrived(everywhere, 1)
        assert payload == b"there"
        assert everywhere.send_datagrams([(b"back", source)]) == 1
        assert [payload for payload, _, _ in arrived(left, 1)] == [b"back"]


def test_largest_and_empty_payloads_pass(pair: tuple[UdpPort, UdpPort]) -> None:
    left, right = pair
    for payload in (b"", bytes(range(256)) * 255 + b"tail"):
        assert left.send_datagrams([(payload, right.local_address)]) == 1
        assert arrived(right, 1)[0][0] == payload


def test_too_long_a_payload_is_an_error_with_its_reason(pair: tuple[UdpPort, UdpPort]) -> None:
    left, right = pair
    with pytest.raises(SocketError, match="too long"):
        left.send_datagrams([(bytes(66_000), right.local_address)])


def test_connected_port_hears_its_peer_alone(pair: tuple[UdpPort, UdpPort]) -> None:
    left, right = pair
    with open_udp(bind=LOCAL, peer=left.local_address) as connected:
        assert connected.connected
        assert connected.peer == left.local_address
        right.send_datagrams([(b"stranger", connected.local_address)])
        left.send_datagrams([(b"friend", connected.local_address)])
        assert [payload for payload, _, _ in arrived(connected, 1)] == [b"friend"]
        connected.set_peer(right.local_address)
        connected.send_datagrams([(b"moved", None)])
        assert arrived(right, 1)[0][0] == b"moved"


def test_unconnected_port_can_be_given_a_peer(pair: tuple[UdpPort, UdpPort]) -> None:
    left, right = pair
    left.set_peer(right.local_address)
    assert left.peer == right.local_address
    left.send_datagrams([(b"x", None)])
    assert arrived(right, 1)[0][0] == b"x"


def test_icmp_refusal_is_counted_and_hides_nothing() -> None:
    with open_udp(bind=LOCAL) as gone:
        address = gone.local_address
    with open_udp(bind=LOCAL, peer=address) as port:
        assert [port.send_datagrams([(b"x", None)]) for _ in range(3)] == [1, 1, 1]
        assert port.receive_datagrams() == []
        assert port.refusals >= 1


def test_kernel_timestamps_are_epoch_nanoseconds(pair: tuple[UdpPort, UdpPort]) -> None:
    with open_udp(bind=LOCAL, timestamps=True) as stamped:
        pair[0].send_datagrams([(b"x", stamped.local_address)])
        assert arrived(stamped, 1)[0][2] > 1_500_000_000_000_000_000
        pair[0].send_datagrams([(b"y", stamped.local_address), (b"z", stamped.local_address)])
        assert all(at > 1_500_000_000_000_000_000 for _, _, at in arrived(stamped, 2))


def test_busy_port_foreign_address_and_closed_port_have_their_errors(pair: tuple[UdpPort, UdpPort]) -> None:
    address = pair[0].local_address
    assert address is not None
    with pytest.raises(PortInUseError, match=f"127.0.0.1:{address[1]}.*hint"):
        open_udp(bind=address)
    with pytest.raises(SocketError, match="not one of this machine"):
        open_udp(bind=("192.0.2.1", 0))
    port = open_udp(bind=LOCAL)
    port.close()
    port.close()
    with pytest.raises(ClosedError):
        _ = port.socket
    with pytest.raises(SocketError):
        port.receive_datagrams()


def test_buffers_are_set_and_probed() -> None:
    buffers = probe_socket_buffers()
    assert 0 < buffers.send_default <= buffers.send_max
    assert 0 < buffers.receive_default <= buffers.receive_max
    with open_udp(bind=LOCAL, send_buffer_length=65_536, receive_buffer_length=65_536) as port:
        assert port.send_buffer_length in (65_536, 131_072)  # Linux reports twice what was asked
        assert port.receive_buffer_length in (65_536, 131_072)


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_ip6_passes() -> None:
    try:
        left = open_udp(bind=("::1", 0))
    except SocketError as error:
        pytest.skip(f"no IPv6 loopback: {error}")
    with left, open_udp(bind=("::1", 0)) as right:
        left.send_datagrams([(b"six", right.local_address)])
        assert arrived(right, 1)[0][:2] == (b"six", left.local_address)


@pytest.mark.parametrize("walk_limit", [5, 0])
def test_poller_reports_ports_with_data_and_forgets_removed_ones(walk_limit: int) -> None:
    ports = [open_udp(bind=LOCAL) for _ in range(4)]
    poller = PortPoller(walk_limit=walk_limit)
    for index, port in enumerate(ports):
        poller.add(port, index)
    assert set(poller.poll()) == ({0, 1, 2, 3} if walk_limit else set())
    ports[0].send_datagrams([(b"x", ports[2].local_address)])
    assert 2 in poller.poll()
    assert poller.remove(ports[2])
    assert not poller.remove(ports[2])
    assert 2 not in poller.poll()
    assert len(poller) == 3
    for port in ports:
        port.close()


def test_poller_hands_its_ports_to_the_system_and_takes_them_back_as_their_number_crosses_the_limit() -> None:
    ports = [open_udp(bind=LOCAL) for _ in range(4)]
    poller = PortPoller(walk_limit=2)
    for index, port in enumerate(ports):
        poller.add(port, index)
        assert set(poller.poll()) == ({*range(index + 1)} if index < 2 else set())  # up to two each one may have something
    for index in (3, 0):  # one that came after the crossing, one that was there before
        ports[1].send_datagrams([(b"x", ports[index].local_address)])
        assert poller.poll() == [index]
        assert arrived(ports[index], 1)[0][0] == b"x"
    for index in (0, 3):
        assert poller.remove(ports[index])
    assert set(poller.poll()) == {1, 2}
    poller.add(ports[3], 3)
    assert poller.poll() == []
    ports[1].send_datagrams([(b"x", ports[2].local_address)])
    assert poller.poll() == [2]
    for port in ports:
        port.close()


@pytest.mark.parametrize("walk_limit", [5, 0])
def test_poller_refuses_a_port_that_it_has(walk_limit: int) -> None:
    poller = PortPoller(walk_limit=walk_limit)
    with open_udp(bind=LOCAL) as port:
        poller.add(port)
        with pytest.raises(SocketError, match=r"cannot watch port.*File exists"):
            poller.add(port)
        assert len(poller) == 1


def test_poller_keeps_what_it_has_when_a_port_cannot_be_watched() -> None:
    ports = [open_udp(bind=LOCAL) for _ in range(3)]
    poller = PortPoller(walk_limit=2)
    for port in ports[:2]:
        poller.add(port)
    kept, descriptor = os.dup(ports[2].fileno()), ports[2].fileno()
    os.close(descriptor)
    with pytest.raises(SocketError, match="cannot watch port"):
        poller.add(ports[2])
    assert set(poller.poll()) == set(ports[:2])  # still asked one by one
    os.dup2(kept, descriptor)
    poller.add(ports[2])
    assert poller.poll() == []
    os.close(kept)
    for port in ports:
        port.close()


def test_poller_always_reports_ports_without_a_descriptor() -> None:
    poller = PortPoller(walk_limit=0)
    silent = [DatagramPort() for _ in range(100)]
    for index, port in enumerate(silent):
        poller.add(port, index)
    seen = {token for _ in range(100) for token in poller.poll()}
    assert seen == set(range(100))  # no more than 64 at a time, none starved
    for port in silent:
        assert poller.remove(port)
    assert poller.poll() == []


def test_batch_that_is_kept_takes_no_more_than_it_has_room_for(pair: tuple[UdpPort, UdpPort]) -> None:
    left, right = pair
    right.set_peer(left.local_address)
    batch = DatagramBatch(2, 100)
    for number in range(3):
        assert send_row(right, [b"%d" % number * 90, b"%d" % number, b"last"]) == 3
        found = [left.receive_datagrams(count, batch) for count in (64, 1) if select.select([left], [], [], 5)[0]]
        assert [[payload for payload, _, _ in part] for part in found] == [[b"%d" % number * 90, b"%d" % number], [b"last"]]


def test_batch_checks_its_size() -> None:
    assert len(DatagramBatch(3, 100)) == 3
    for count, capacity in ((0, 1), (1, 0)):
        with pytest.raises(ValueError, match="positive"):
            DatagramBatch(count, capacity)


@pytest.mark.parametrize(
    ("value", "text"),
    [(("127.0.0.1", 40123), "127.0.0.1:40123"), (("::1", 1), "[::1]:1"), (("ff02::1", 65535), "[ff02::1]:65535"), (None, "")],
)
def test_addresses_keep_their_value_and_print_as_aeron_prints_them(value: tuple[str, int] | None, text: str) -> None:
    assert parse_and_return(value) == value
    assert address_text(value) == text


def test_addresses_compare_by_family_host_and_port() -> None:
    assert equals(("127.0.0.1", 1), ("127.0.0.1", 1))
    assert equals(None, None)
    for other in (("127.0.0.1", 2), ("127.0.0.2", 1), ("::1", 1), None):
        assert not equals(("127.0.0.1", 1), other)
    assert is_multicast(("239.1.1.1", 1))
    assert is_multicast(("ff02::1", 1))
    assert not is_multicast(("127.0.0.1", 1))
    for bad in (("localhost", 1), ("127.0.0.1", 70_000)):
        with pytest.raises((OSError, ValueError)):
            address_text(bad)


def test_datagrams_in_a_row_are_cut_by_the_kernel_and_arrive_one_by_one(pair: tuple[UdpPort, UdpPort]) -> None:
    left, right = pair
    payloads = [bytes([index]) * 100 for index in range(9)] + [b"shorter"]
    left.set_peer(right.local_address)
    assert send_row(left, payloads) == len(payloads)
    assert [payload for payload, _, _ in arrived(right, len(payloads))] == payloads


@pytest.mark.parametrize("at_once", [16, 1])
@pytest.mark.parametrize("lengths", [[100] * 130, [1400] * 60, [65_507, 1], [64] * 3 + [32] + [64] * 3, [32]], ids=str)
def test_joined_datagrams_are_parted_where_they_were_cut(lengths: list[int], at_once: int) -> None:
    payloads = [bytes([index]) * length for index, length in enumerate(lengths)]
    with open_udp(bind=LOCAL) as left, open_udp(bind=LOCAL, join=True, receive_buffer_length=1 << 20) as right:
        if not right.joins:
            pytest.skip("the kernel does not join datagrams")
        left.set_peer(right.local_address)
        assert send_row(left, payloads) == len(payloads)
        assert left.cuts
        found: list[tuple[bytes, tuple[str, int] | None, int]] = []
        while len(found) < len(payloads) and select.select([right], [], [], 5)[0]:
            found += right.receive_datagrams(at_once)
        assert [payload for payload, _, _ in found] == payloads
        assert {source for _, source, _ in found} == {left.local_address}


def test_a_port_that_may_not_cut_sends_the_same(pair: tuple[UdpPort, UdpPort]) -> None:
    _, right = pair
    with open_udp(bind=LOCAL, cut=False) as left:
        assert not left.cuts
        left.set_peer(right.local_address)
        assert send_row(left, [b"a" * 64] * 5) == 5
        assert [payload for payload, _, _ in arrived(right, 5)] == [b"a" * 64] * 5


def test_a_route_that_cannot_cut_is_used_without(pair: tuple[UdpPort, UdpPort]) -> None:
    left, right = pair
    left.socket.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)  # without checksums the kernel refuses to cut
    left.set_peer(right.local_address)
    assert send_row(left, [b"a" * 64] * 5) == 5
    assert not left.cuts
    assert [payload for payload, _, _ in arrived(right, 5)] == [b"a" * 64] * 5


def test_a_refusal_of_a_row_is_counted_and_the_row_sent_again() -> None:
    with open_udp(bind=LOCAL) as gone:
        address = gone.local_address
    with open_udp(bind=LOCAL, peer=address) as left:
        for _ in range(3):
            assert send_row(left, [b"a" * 64] * 5) in {0, 5}
        assert left.refusals > 0


def own_address() -> str | None:
    """Return an address of this machine beside its loopback ones."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        host = str(probe.getsockname()[0])
    return None if host.startswith("127.") else host


def test_a_connected_port_keeps_its_number_at_a_new_peer() -> None:
    with (
        open_udp(bind=LOCAL) as first,
        open_udp(bind=("127.0.0.2", 0)) as second,
        open_udp(bind=("0.0.0.0", 0), peer=first.local_address) as port,
    ):
        number = bound(port)[1]
        port.set_peer(second.local_address)
        assert bound(port)[1] == number
        port.send_datagrams([(b"moved", None)])
        ((payload, source, _),) = arrived(second, 1)
        assert (payload, source) == (b"moved", bound(port))
        assert first.receive_datagrams(1) == []


def test_a_new_peer_is_not_sent_to_from_the_old_ones_address() -> None:
    host = own_address()
    if host is None:
        pytest.skip("this machine has loopback addresses only")
    with open_udp(bind=LOCAL) as first, open_udp(bind=("0.0.0.0", 0), peer=first.local_address) as port:
        assert bound(port)[0] == "127.0.0.1"
        port.set_peer((host, 9))
        assert bound(port)[0] == host
