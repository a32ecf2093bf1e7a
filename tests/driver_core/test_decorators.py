"""Induced loss and the native capture around a port, octet by octet."""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct

import pytest
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.utils import PcapNgReader, RawPcapReader

from aerowire.driver.media.capture import CaptureWriter
from aerowire.driver.media.capture_port import CapturePort, CaptureTap
from aerowire.driver.media.loss_port import LossPort, LossRates
from aerowire.simulation.network import SimulatedNetwork
from aerowire.system.clock import ManualClock
from aerowire.system.poller import PortPoller
from aerowire.system.udp import open_udp

EPOCH_MS = 1_700_000_000_123
A, B = ("10.0.0.1", 5000), ("10.0.0.2", 6000)


@pytest.fixture
def clock():
    return ManualClock(now_ns=0, epoch_ms=EPOCH_MS)


@pytest.fixture
def network(clock):
    return SimulatedNetwork(clock, seed=1, latency_ns=0)


def burst(count):
    return [(index.to_bytes(4, "big"), None) for index in range(count)]


def drain(port, rounds=2000):
    out = []
    for _ in range(rounds):
        out += [int.from_bytes(payload[:4], "big") for payload, _, _ in port.receive_datagrams(16)]
    return out


def test_without_rates_everything_passes_in_order(network):
    sender = LossPort(network.open_port(A, B))
    receiver = LossPort(network.open_port(B))
    assert sender.send_datagrams(burst(500)) == 500
    assert drain(receiver) == list(range(500))


@pytest.mark.parametrize("side", ["outgoing", "incoming"])
def test_losses_repetitions_and_overtaking_come_in_their_proportions(network, side):
    rates = LossRates(loss=0.1, duplicate=0.1, reorder=0.1, seed=7)
    sender = LossPort(network.open_port(A, B), outgoing=rates if side == "outgoing" else None)
    receiver = LossPort(network.open_port(B), incoming=rates if side == "incoming" else None)
    assert sender.send_datagrams(burst(2000)) == 2000
    sender.send_datagrams([(b"\xff\xff\xff\xff", None)] * 8)
    got = [number for number in drain(receiver) if number < 2000]
    lane = sender.outgoing if side == "outgoing" else receiver.incoming
    assert 120 < lane.lost < 280
    assert 120 < lane.duplicated < 280
    assert 60 < lane.reordered < 280
    assert 2000 - lane.lost - 1 <= len(set(got)) <= 2000 - lane.lost + 8
    assert any(later < earlier for earlier, later in itertools.pairwise(got))


def test_what_was_held_back_on_a_silent_socket_comes_out_also_behind_a_poller_of_many():
    with contextlib.ExitStack() as stack:
        ports = [LossPort(open_udp(bind=("127.0.0.1", 0)), incoming=LossRates(reorder=1.0, seed=3)) for _ in range(8)]
        poller = PortPoller()
        for port in ports:
            stack.callback(port.close)
            poller.add(port)
        sender = stack.enter_context(open_udp(bind=("127.0.0.1", 0), peer=ports[0].local_address))
        sender.send_datagrams([(b"last of its stream", None)])
        got = [payload for _ in range(2000) for port in poller.poll() for payload, _, _ in port.receive_datagrams(4)]
        assert got == [b"last of its stream"]


def test_the_same_seed_has_the_same_fate(clock):
    fates = []
    for _ in range(2):
        network = SimulatedNetwork(clock, seed=1, latency_ns=0)
        sender = LossPort(network.open_port(A, B), outgoing=LossRates(loss=0.3, duplicate=0.2, reorder=0.2, seed=99))
        receiver = network.open_port(B)
        sender.send_datagrams(burst(300))
        fates.append(drain(receiver, 50))
    assert fates[0] == fates[1]


def test_total_loss_still_counts_as_sent(network):
    sender = LossPort(network.open_port(A, B), outgoing=LossRates(loss=1.0))
    receiver = network.open_port(B)
    assert sender.send_datagrams(burst(10)) == 10
    assert drain(receiver, 5) == []


@pytest.mark.parametrize("rate", [-0.1, 1.1])
def test_rates_are_probabilities(rate):
    with pytest.raises(ValueError, match="loss rate: expected 0 to 1"):
        LossRates(loss=rate)


def test_capture_holds_each_datagram_with_headers_direction_and_time(network, clock, tmp_path):
    writer = CaptureWriter(tmp_path / "one.pcapng", clock)
    sender = CapturePort(network.open_port(A, B), CaptureTap(writer, local=A, remote=B))
    receiver = CapturePort(network.open_port(B), CaptureTap(writer, local=B))
    sender.send_datagrams([(b"hello aeron", None)])
    clock.advance(1_000)
    receiver.receive_datagrams(4)
    writer.close()
    packets = list(PcapNgReader(str(tmp_path / "one.pcapng")))
    assert [packet.sniffed_on for packet in packets] == ["sent", "received"]
    for record, nanos in zip(packets, (0, 1_000), strict=True):
        packet = IP(bytes(record))
        assert (packet["IP"].src, packet["IP"].dst, packet["UDP"].sport, packet["UDP"].dport) == ("10.0.0.1", "10.0.0.2", 5000, 6000)
        assert bytes(packet["UDP"].payload) == b"hello aeron"
        assert round(record.time * 10**9) == EPOCH_MS * 10**6 + nanos
        checksum = packet["IP"].chksum
        del packet["IP"].chksum
        assert IP(bytes(packet)).chksum == checksum


def test_what_induced_loss_ate_is_marked(network, clock, tmp_path):
    writer = CaptureWriter(tmp_path / "lossy.pcapng", clock)
    sender = LossPort(network.open_port(A, B), outgoing=LossRates(loss=1.0), tap=CaptureTap(writer, local=A, remote=B))
    plain = network.open_port(("10.0.0.3", 7000), B)
    receiver = LossPort(network.open_port(B), incoming=LossRates(loss=1.0), tap=CaptureTap(writer, local=B))
    sender.send_datagrams([(b"never sent", None)])
    plain.send_datagrams([(b"never heard", None)])
    assert receiver.receive_datagrams(4) == []
    writer.close()
    packets = list(PcapNgReader(str(tmp_path / "lossy.pcapng")))
    assert [(packet.sniffed_on, packet.comment) for packet in packets] == [("sent-dropped", b"dropped"), ("received-dropped", b"dropped")]
    assert bytes(IP(bytes(packets[1]))["UDP"].payload) == b"never heard"


def test_classic_capture_marks_loss_in_the_hardware_address(network, clock, tmp_path):
    writer = CaptureWriter(tmp_path / "classic.pcap", clock)
    sender = LossPort(network.open_port(A, B), outgoing=LossRates(loss=1.0), tap=CaptureTap(writer, local=A, remote=B))
    port = CapturePort(network.open_port(("10.0.0.9", 1)), CaptureTap(writer, local=("10.0.0.9", 1)))
    sender.send_datagrams([(b"lost", None)])
    port.send_datagrams([(b"kept!", B)])
    writer.close()
    lost, kept = (Ether(octets) for octets, _ in RawPcapReader(str(tmp_path / "classic.pcap")))
    assert (lost.src, kept.src) == ("02:00:00:00:00:0d", "02:00:00:00:00:01")
    assert bytes(kept["UDP"].payload) == b"kept!"


def test_capture_of_ip6_has_a_right_checksum(clock, tmp_path):
    network = SimulatedNetwork(clock, seed=1)
    writer = CaptureWriter(tmp_path / "six.pcapng", clock)
    a, b = ("fd00::1", 5000), ("fd00::2", 6000)
    port = CapturePort(network.open_port(a, b), CaptureTap(writer, local=a, remote=b))
    port.send_datagrams([(b"odd", None)])
    writer.close()
    (record,) = PcapNgReader(str(tmp_path / "six.pcapng"))
    packet = IPv6(bytes(record))
    checksum = packet["UDP"].chksum
    del packet["UDP"].chksum
    assert IPv6(bytes(packet))["UDP"].chksum == checksum
    assert socket.inet_pton(socket.AF_INET6, packet["IPv6"].dst) == socket.inet_pton(socket.AF_INET6, "fd00::2")


def test_many_packets_cross_the_buffer_without_a_broken_record(network, clock, tmp_path):
    path = tmp_path / "many.pcapng"
    writer = CaptureWriter(path, clock)
    port = CapturePort(network.open_port(A, B), CaptureTap(writer, local=A, remote=B))
    for index in range(300):
        port.send_datagrams([(bytes(1 + index * 200 % 60_000), None)])
    assert writer.packet_count == 300
    writer.close()
    raw = path.read_bytes()
    offset = count = 0
    while offset < len(raw):
        kind, length = struct.unpack_from("<II", raw, offset)
        assert struct.unpack_from("<I", raw, offset + length - 4) == (length,)
        count += kind == 6
        offset += length
    assert (offset, count) == (len(raw), 300)
