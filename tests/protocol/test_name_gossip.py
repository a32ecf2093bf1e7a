"""What a driver's name resolver says, hears, passes on and forgets, with literal frames and times."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerowire.protocol.name_cache import NAMES_MAX, NameCache, ResolverAddress
from aerowire.protocol.name_gossip import NEIGHBORS_MAX, GossipIntervals, NameGossip

MS = 1_000_000
SECOND = 1_000_000_000
INTERVALS = GossipIntervals(
    neighbor_timeout_ns=10 * SECOND, self_resolution_ns=SECOND, neighbor_resolution_ns=2 * SECOND, bootstrap_resolution_ns=10 * SECOND
)
START = 5 * SECOND
CAPTURE = Path(__file__).parent.parent / "data" / "captures" / "name_resolution.pcap"

# What the official C driver of the capture sent to its bootstrap neighbour: node-A at 127.0.0.1:8050.
SELF_A = bytes.fromhex("20000000000007000180721f000000007f00000106006e6f64652d4100000000")


def at(address: str, port: int) -> ResolverAddress:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolverAddress(socket.inet_pton(family, address), port)


A, B, C = at("127.0.0.1", 8050), at("127.0.0.1", 8051), at("127.0.0.1", 8052)


def gossip(
    name: str = "node-A", local: ResolverAddress = A, *, bootstraps: tuple[ResolverAddress, ...] = (), mtu: int = 1408
) -> NameGossip:
    machine = NameGossip(name, local, INTERVALS, mtu_length=mtu, bootstrap_count=len(bootstraps), now_ns=START)
    for index, address in enumerate(bootstraps):
        machine.on_bootstrap_resolved(index, address)
    return machine


def entry(
    name: bytes, address: str, port: int, *, flags: int = 0, age: int = 0, kind: int | None = None, length: int | None = None
) -> bytes:
    packed = socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    kind = (1 if len(packed) == 4 else 2) if kind is None else kind
    body = struct.pack("<bBHi", kind, flags, port, age) + packed + struct.pack("<h", len(name) if length is None else length) + name
    return body + bytes(-len(body) % 8)


def frame(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<iBBh", 8 + len(body), 0, 0, 7) + body


def self_frame(name: bytes, address: str, port: int) -> bytes:
    return frame(entry(name, address, port, flags=0x80))


class TestSelf:
    def test_announces_its_name_to_bootstrap_neighbours_each_second(self) -> None:
        machine = gossip(bootstraps=(B,))
        assert machine.poll_datagrams(START) == [(SELF_A, B)]
        assert machine.poll_datagrams(START + SECOND - 1) == []
        assert machine.poll_datagrams(START + SECOND) == [(SELF_A, B)]

    def test_says_nothing_to_nobody_and_speaks_as_soon_as_somebody_is_heard(self) -> None:
        machine = gossip()
        assert machine.poll_datagrams(START) == machine.poll_datagrams(START + 10 * SECOND) == []
        assert machine.on_frame(self_frame(b"node-B", "127.0.0.1", 8051), B, START + 10 * SECOND)
        sent = machine.poll_datagrams(START + 10 * SECOND + 10 * MS)
        assert (SELF_A, B) in sent

    def test_announces_to_a_bootstrap_neighbour_that_is_a_neighbour_once(self) -> None:
        machine = gossip(bootstraps=(B,))
        machine.on_frame(self_frame(b"node-B", "127.0.0.1", 8051), B, START)
        machine.on_frame(self_frame(b"node-C", "127.0.0.1", 8052), C, START)
        assert [to for _, to in machine.poll_datagrams(START)] == [B, C]
        assert machine.bootstraps_reached == (True,)

    def test_an_unresolved_bootstrap_neighbour_is_not_sent_to(self) -> None:
        machine = NameGossip("node-A", A, INTERVALS, mtu_length=1408, bootstrap_count=1, now_ns=START)
        assert machine.poll_datagrams(START) == []
        machine.on_bootstrap_resolved(0, B)
        assert machine.poll_datagrams(START + SECOND) == [(SELF_A, B)]

    def test_an_ipv6_resolver_announces_an_ipv6_record(self) -> None:
        (sent,) = gossip("six", at("::1", 9000), bootstraps=(at("::1", 9001),)).poll_datagrams(START)
        assert sent[0] == self_frame(b"six", "::1", 9000)

    def test_ignores_its_own_name_and_port_from_any_address(self) -> None:
        machine = gossip(local=at("0.0.0.0", 8050))
        assert machine.on_frame(self_frame(b"node-A", "10.0.0.7", 8050), at("10.0.0.7", 8050), START)
        assert (machine.neighbor_count, len(machine.cache)) == (0, 0)
        machine.on_frame(self_frame(b"node-A", "10.0.0.7", 8059), at("10.0.0.7", 8059), START)
        assert (machine.neighbor_count, len(machine.cache)) == (1, 1)


class TestGossip:
    def test_passes_on_what_it_heard_with_its_age_each_two_seconds(self) -> None:
        machine = gossip()
        machine.on_frame(self_frame(b"node-B", "127.0.0.1", 8051), B, START + 1_250 * MS)
        assert [kind for kind, _ in machine.poll_datagrams(START + 2 * SECOND - 1)] == [SELF_A]
        assert machine.poll_datagrams(START + 2 * SECOND) == [(frame(entry(b"node-B", "127.0.0.1", 8051, age=750)), B)]

    def test_a_name_that_was_passed_on_is_known_with_the_time_it_had(self) -> None:
        machine = gossip()
        machine.on_frame(frame(entry(b"node-C", "127.0.0.1", 8052, age=4_000)), B, START)
        assert machine.resolve("node-C") == b"\x7f\0\0\1"
        assert machine.neighbors == (C,)
        machine.poll_datagrams(START + 6 * SECOND - 1)
        assert machine.neighbors == (C,)
        machine.poll_datagrams(START + 6 * SECOND)
        assert not machine.neighbors
        machine.poll_datagrams(START + 6 * SECOND + 1)
        assert machine.resolve("node-C") is None

    def test_only_its_own_word_keeps_a_neighbour(self) -> None:
        machine = gossip()
        machine.on_frame(self_frame(b"node-C", "127.0.0.1", 8052), C, START)
        machine.on_frame(frame(entry(b"node-C", "127.0.0.1", 8052)), B, START + 9 * SECOND)
        machine.poll_datagrams(START + 10 * SECOND)
        assert (machine.neighbor_count, machine.resolve("node-C")) == (0, b"\x7f\0\0\1")

    def test_splits_entries_by_the_mtu(self) -> None:
        machine = gossip(mtu=128)
        names = [b"driver-%02d-with-a-long-name" % number for number in range(5)]
        for number, name in enumerate(names):
            machine.on_frame(self_frame(name, "127.0.0.1", 9000 + number), at("127.0.0.1", 9000 + number), START + SECOND)
        sent = [packet for packet, to in machine.poll_datagrams(START + 2 * SECOND) if to == at("127.0.0.1", 9000) and packet != SELF_A]
        entries = [entry(name, "127.0.0.1", 9000 + number, age=1_000) for number, name in enumerate(names)]
        assert sent == [frame(*entries[:3]), frame(*entries[3:])]
        assert len(entries[0]) == 40
        assert max(map(len, sent)) == 128

    def test_a_name_longer_than_the_mtu_is_still_sent(self) -> None:
        machine = gossip(mtu=64)
        name = b"n" * 512
        machine.on_frame(self_frame(name, "127.0.0.1", 9000), at("127.0.0.1", 9000), START)
        assert machine.poll_datagrams(START + 2 * SECOND)[-1][0] == frame(entry(name, "127.0.0.1", 9000, age=2_000))

    def test_many_names_for_many_neighbours_go_out_a_few_at_a_time_and_whole(self) -> None:
        machine = gossip()
        names = [b"driver-%03d-%s" % (number, b"x" * 480) for number in range(60)]
        for number, name in enumerate(names):
            machine.on_frame(frame(entry(name, f"10.0.0.{number % 30 + 1}", 8050)), B, START + 2 * SECOND)
        sent: list[tuple[bytes, ResolverAddress]] = []
        polls = 0
        while round_ := [item for item in machine.poll_datagrams(START + 2 * SECOND + polls * 10 * MS) if item[0] != SELF_A]:
            assert len(round_) <= 16
            sent += round_
            polls += 1
        # Two such names fill a datagram: 30 datagrams to each of 30 neighbours, once.
        assert (len(sent), len(set(sent)), polls) == (900, 900, 57)
        for name in names:
            assert {to for packet, to in sent if name in packet} == set(machine.neighbors)
        assert sum(len(machine.poll_datagrams(START + 4 * SECOND - 1)) for _ in range(3)) == 30  # the announcement, nothing else
        assert len(machine.poll_datagrams(START + 4 * SECOND)) == 16

    def test_who_falls_silent_while_names_are_passed_on_hears_no_more_of_them(self) -> None:
        machine = gossip()
        for number in range(100):
            machine.on_frame(frame(entry(b"n%d" % number, f"10.0.0.{number}", 8050)), B, START)
        assert len(machine.poll_datagrams(START + 9 * SECOND)) == 100 + 16
        assert machine.poll_datagrams(START + 10 * SECOND) == []

    def test_gossip_repeated_is_one_neighbour(self) -> None:
        machine = gossip()
        for _ in range(5):
            machine.on_frame(self_frame(b"node-B", "127.0.0.1", 8051), B, START)
        assert (machine.neighbor_count, len(machine.cache)) == (1, 1)

    def test_a_name_follows_its_driver_to_another_address(self) -> None:
        machine = gossip()
        machine.on_frame(self_frame(b"node-B", "10.0.0.2", 8051), at("10.0.0.2", 8051), START)
        machine.on_frame(self_frame(b"node-B", "10.0.0.3", 8051), at("10.0.0.3", 8051), START + SECOND)
        assert machine.resolve("node-B") == bytes([10, 0, 0, 3])


class TestAddresses:
    def test_a_wildcard_self_record_means_the_source(self) -> None:
        machine = gossip()
        machine.on_frame(self_frame(b"node-B", "0.0.0.0", 8051), at("10.0.0.2", 40_000), START)
        assert (machine.resolve("node-B"), machine.neighbors) == (bytes([10, 0, 0, 2]), (at("10.0.0.2", 8051),))

    def test_a_wildcard_of_the_other_family_means_nobody(self) -> None:
        machine = gossip()
        assert machine.on_frame(self_frame(b"node-B", "::", 8051), at("10.0.0.2", 40_000), START)
        assert (machine.neighbor_count, len(machine.cache)) == (0, 0)

    def test_ipv4_comes_before_ipv6(self) -> None:
        machine = gossip()
        machine.on_frame(self_frame(b"node-B", "::1", 8051), at("::1", 8051), START)
        assert machine.resolve("node-B") == socket.inet_pton(socket.AF_INET6, "::1")
        machine.on_frame(self_frame(b"node-B", "10.0.0.2", 8051), B, START)
        assert machine.resolve("node-B") == bytes([10, 0, 0, 2])

    def test_its_own_name_is_where_it_listens(self) -> None:
        assert gossip().resolve("node-A") == b"\x7f\0\0\1"
        assert gossip().resolve("node-\u00c4") is None


class TestBadFrames:
    @pytest.mark.parametrize(
        "packet",
        [
            b"",
            frame()[:8],
            frame(entry(b"x", "10.0.0.9", 1, kind=3)),
            frame(entry(b"x", "10.0.0.9", 1, kind=0)),
            frame(entry(b"x", "10.0.0.9", 1, length=0)),
            frame(entry(b"x", "10.0.0.9", 1, length=-1)),
            frame(entry(b"n" * 520, "10.0.0.9", 1)),
            frame(entry(b"x", "10.0.0.9", 1, length=500)),
            frame(entry(b"x", "::9", 1))[:30],
            frame(entry(b"x", "10.0.0.9", 1))[:21],
            b"\x20\0\0\0\1" + SELF_A[5:],
        ],
    )
    def test_nothing_of_a_bad_entry_is_kept(self, packet: bytes) -> None:
        machine = gossip()
        assert not machine.on_frame(packet, B, START)
        assert (machine.neighbor_count, len(machine.cache)) == (0, 0)

    def test_entries_before_the_bad_one_are_kept(self) -> None:
        machine = gossip()
        good, bad = entry(b"node-B", "127.0.0.1", 8051), entry(b"x", "10.0.0.9", 1, kind=9)
        assert not machine.on_frame(frame(good, bad, entry(b"node-C", "127.0.0.1", 8052)), B, START)
        assert (machine.resolve("node-B"), machine.resolve("node-C")) == (b"\x7f\0\0\1", None)

    def test_other_frames_are_none_of_its_business(self) -> None:
        data = struct.pack("<iBBhiiiiq", 32, 0, 0xC0, 1, 0, 1, 1, 0, 0)
        assert gossip().on_frame(data, B, START)

    def test_an_age_below_zero_gains_no_time(self) -> None:
        machine = gossip()
        machine.on_frame(frame(entry(b"node-B", "127.0.0.1", 8051, age=-2_000_000)), B, START)
        machine.poll_datagrams(START + 10 * SECOND + 1)
        assert (machine.neighbor_count, len(machine.cache)) == (0, 0)

    def test_made_up_names_fill_the_tables_and_no_more(self) -> None:
        cache = NameCache(SECOND)
        for number in range(NAMES_MAX + 10):
            assert cache.put(b"%d" % number, B, 0) is (number < NAMES_MAX)
        assert cache.put(b"0", C, 5)
        assert cache.find(b"0", C.res_type) == C
        machine = gossip()
        for port in range(1, NEIGHBORS_MAX + 10):
            machine.on_frame(frame(entry(b"x", "10.0.0.1", port)), B, START)
        assert machine.neighbor_count == NEIGHBORS_MAX

    @given(st.binary(max_size=120))
    def test_any_bytes_leave_it_well(self, body: bytes) -> None:
        machine = gossip()
        machine.on_frame(struct.pack("<iBBh", 8 + len(body), 0, 0, 7) + body, B, START)
        machine.poll_datagrams(START + 3 * SECOND)
        assert machine.neighbor_count <= len(body) // 16


class TestBootstrap:
    def test_only_neighbours_that_are_not_heard_are_looked_up_again(self) -> None:
        machine = gossip(bootstraps=(B, C))
        assert machine.poll_bootstraps(START + 10 * SECOND - 1) == []
        machine.on_frame(self_frame(b"node-B", "127.0.0.1", 8051), B, START + 9 * SECOND)
        assert machine.poll_bootstraps(START + 10 * SECOND) == [1]
        assert machine.poll_bootstraps(START + 10 * SECOND) == []
        machine.on_bootstrap_resolved(1, at("127.0.0.9", 8052))
        assert [to for _, to in machine.poll_datagrams(START + 10 * SECOND)] == [B, at("127.0.0.9", 8052), B]

    def test_without_bootstrap_neighbours_nothing_is_looked_up(self) -> None:
        assert gossip().poll_bootstraps(START + 100 * SECOND) == []


def captured() -> list[tuple[int, int, bytes]]:
    """(time in ns, source port, RES frame) of the official drivers' talk."""
    data, found, at_byte = CAPTURE.read_bytes(), [], 24
    while at_byte < len(data):
        seconds, micros, length, _ = struct.unpack_from("<IIII", data, at_byte)
        packet = data[at_byte + 16 : at_byte + 16 + length]
        source, _, _, _ = struct.unpack_from(">HHHH", packet, 34)
        payload = packet[42:]
        if payload[6:8] == b"\7\0":
            found.append((seconds * SECOND + micros * 1_000, source, payload))
        at_byte += 16 + length
    return found


def without_ages(packet: bytes) -> bytes:
    return packet[:12] + bytes(4) + packet[16:]


@pytest.mark.parametrize(("name", "local", "peer"), [("node-A", A, B), ("node-B", B, A)])
def test_says_what_an_official_driver_said_to_the_same_neighbour(name: str, local: ResolverAddress, peer: ResolverAddress) -> None:
    """Fed with what one official driver heard, the machine sends what it sent, in as many frames."""
    talk = captured()
    first_ns = min(when for when, source, _ in talk if source == local.port)
    machine = NameGossip(name, local, INTERVALS, mtu_length=1408, bootstrap_count=1, now_ns=first_ns)
    machine.on_bootstrap_resolved(0, peer)
    said: list[tuple[bytes, ResolverAddress]] = []
    for now_ns in range(first_ns - first_ns % (10 * MS), talk[-1][0] + 10 * MS, 10 * MS):
        for when, source, packet in talk:
            if source == peer.port and now_ns - 10 * MS < when <= now_ns:
                assert machine.on_frame(packet, peer, now_ns)
        said += machine.poll_datagrams(now_ns) if now_ns >= first_ns else []
    expected = [packet for _, source, packet in talk if source == local.port]
    assert {to for _, to in said} == {peer}
    assert {without_ages(packet) for packet, _ in said} == {without_ages(packet) for packet in expected}
    assert abs(len(said) - len(expected)) <= 1  # the last of one may fall just past the end of the other
