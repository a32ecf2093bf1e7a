"""Multicast groups over the loopback interface: both ends, several members, and what the system refuses."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator

import pytest

from aerowire.base.errors import SocketError
from aerowire.base.ports import DatagramPort
from aerowire.system.datagrams import UdpPort
from aerowire.system.multicast import open_multicast
from aerowire.system.split_port import SplitPort
from tests.support.processes import free_port

LOOPBACK = ("127.0.0.1", socket.if_nametoindex("lo"))
DATA, CONTROL = "239.192.17.3", "239.192.17.4"


def payloads(port: DatagramPort, count: int) -> list[bytes]:
    out: list[bytes] = []
    while len(out) < count and select.select([port], [], [], 5)[0]:
        out += [payload for payload, _, _ in port.receive_datagrams(count - len(out))]
    return out


@pytest.fixture
def group() -> Iterator[tuple[DatagramPort, UdpPort, UdpPort]]:
    """A sending end and two receiving ones."""
    number = free_port()
    sender = open_multicast(group=(CONTROL, number), interface=LOOPBACK, peer=(DATA, number), ttl=1)
    members = [open_multicast(group=(DATA, number), interface=LOOPBACK) for _ in range(2)]
    first, second = members
    assert isinstance(first, UdpPort)
    assert isinstance(second, UdpPort)
    yield sender, first, second
    for port in (sender, first, second):
        port.close()


def test_every_member_hears_the_sender(group: tuple[DatagramPort, UdpPort, UdpPort]) -> None:
    sender, first, second = group
    assert sender.send_datagrams([(b"all", None)]) == 1
    assert payloads(first, 1) == payloads(second, 1) == [b"all"]
    assert sender.receive_datagrams() == [], "the sender is no member of the data group"


def test_the_sender_hears_the_control_group(group: tuple[DatagramPort, UdpPort, UdpPort]) -> None:
    sender, first, second = group
    local = sender.local_address
    assert local is not None
    for member in (first, second):
        member.send_datagrams([(b"status", (CONTROL, local[1]))])
    assert payloads(sender, 2) == [b"status"] * 2
    assert first.receive_datagrams() == second.receive_datagrams() == [], "receivers do not hear each other"


def test_two_groups_on_one_port_number_do_not_mix(group: tuple[DatagramPort, UdpPort, UdpPort]) -> None:
    sender, first, _ = group
    local = sender.local_address
    assert local is not None
    other = open_multicast(group=("239.192.18.3", local[1]), interface=LOOPBACK)
    try:
        sender.send_datagrams([(b"mine", None)])
        assert payloads(first, 1) == [b"mine"]
        assert other.receive_datagrams() == []
    finally:
        other.close()


def test_options_of_a_sending_end(group: tuple[DatagramPort, UdpPort, UdpPort]) -> None:
    sender, first, _ = group
    assert isinstance(sender, SplitPort)
    assert isinstance(sender.sending, UdpPort)
    assert sender.sending.socket.getsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL) == 1
    assert sender.sending.socket.getsockname()[0] == "127.0.0.1"
    assert sender.sending.connected
    assert first.socket.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
    assert first.socket.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT)
    assert first.socket.getsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF) == int.from_bytes(socket.inet_aton("127.0.0.1"), "little")


def test_closing_a_sending_end_frees_both_sockets(group: tuple[DatagramPort, UdpPort, UdpPort]) -> None:
    sender, _, _ = group
    assert isinstance(sender, SplitPort)
    sender.close()
    sender.close()
    assert isinstance(sender.sending, UdpPort)
    assert isinstance(sender.receiving, UdpPort)
    assert sender.sending.closed
    assert sender.receiving.closed


def test_says_what_the_system_refuses() -> None:
    number = free_port()
    with pytest.raises(SocketError, match=r"cannot join multicast group 10\.0\.0\.1"):
        open_multicast(group=("10.0.0.1", number), interface=LOOPBACK)
    with pytest.raises(SocketError, match="TTL to 300"):
        open_multicast(group=(DATA, number), interface=LOOPBACK, ttl=300)
    with pytest.raises(SocketError, match="cannot join"):
        open_multicast(group=(DATA, number), interface=("198.51.100.7", 1))
    with pytest.raises(SocketError, match="not an address"):
        open_multicast(group=(DATA, number), interface=("lo", 1))


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_ip6_members_join_by_interface_index() -> None:
    # Whether the loopback interface carries IPv6 groups depends on its routes, so only joining is looked at.
    try:
        member = open_multicast(group=("ff01::11f", free_port()), interface=("::1", LOOPBACK[1]), ttl=3)
    except SocketError as error:
        if "family" in str(error):
            pytest.skip(f"no IPv6 here: {error}")
        raise
    try:
        assert isinstance(member, UdpPort)
        assert member.socket.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF) == LOOPBACK[1]
        assert member.socket.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS) == 3
    finally:
        member.close()
