"""The native capture around a port, octet by octet."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

import pytest
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.utils import PcapNgReader, RawPcapReader

from aerowire.driver.media.capture import CaptureWriter
from aerowire.driver.media.capture_port import CapturePort, CaptureTap
from aerowire.driver.media.loss_port import LossPort, LossRates
from aerowire.simulation.link_faults import LinkFaults
from aerowire.simulation.network import SimulatedNetwork
from aerowire.system.clock import ManualClock

EPOCH_MS = 1_700_000_000_123
A, B = ("10.0.0.1", 5000), ("10.0.0.2", 6000)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(now_ns=0, epoch_ms=EPOCH_MS)


@pytest.fixture
def network(clock: ManualClock) -> SimulatedNetwork:
    return SimulatedNetwork(clock, seed=1, faults=LinkFaults(latency_ns=0))


def test_capture_holds_each_datagram_with_headers_direction_and_time(network: SimulatedNetwork, clock: ManualClock, tmp_path: Path) -> None:
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


def test_what_induced_loss_ate_is_marked(network: SimulatedNetwork, clock: ManualClock, tmp_path: Path) -> None:
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


def test_classic_capture_marks_loss_in_the_hardware_address(network: SimulatedNetwork, clock: ManualClock, tmp_path: Path) -> None:
    writer = CaptureWriter(tmp_path / "classic.pcap", clock)
    sender = LossPort(network.open_port(A, B), outgoing=LossRates(loss=1.0), tap=CaptureTap(writer, local=A, remote=B))
    port = CapturePort(network.open_port(("10.0.0.9", 1)), CaptureTap(writer, local=("10.0.0.9", 1)))
    sender.send_datagrams([(b"lost", None)])
    port.send_datagrams([(b"kept!", B)])
    writer.close()
    lost, kept = (Ether(octets) for octets, _ in RawPcapReader(str(tmp_path / "classic.pcap")))
    assert (lost.src, kept.src) == ("02:00:00:00:00:0d", "02:00:00:00:00:01")
    assert bytes(kept["UDP"].payload) == b"kept!"


def test_capture_of_ip6_has_a_right_checksum(clock: ManualClock, tmp_path: Path) -> None:
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


def test_many_packets_cross_the_buffer_without_a_broken_record(network: SimulatedNetwork, clock: ManualClock, tmp_path: Path) -> None:
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


def test_datagrams_of_others_are_added_at_the_time_of_the_clock(clock: ManualClock, tmp_path: Path) -> None:
    writer = CaptureWriter(tmp_path / "added.pcapng", clock)
    writer.add(A, B, b"one")
    writer.add(("::1", 1), ("::2", 2), b"two")
    for payload in (b"", bytes(65_745)):
        with pytest.raises(ValueError, match="a datagram has 1 to 65744 bytes"):
            writer.add(A, B, payload)
    writer.close()
    with PcapNgReader(str(tmp_path / "added.pcapng")) as packets:
        first, second = packets
    assert (first[IP].src, first[IP].dst, bytes(first.lastlayer())) == ("10.0.0.1", "10.0.0.2", b"one")
    assert (second[IPv6].src, second[IPv6].dst) == ("::1", "::2")
    assert int(first.time * 1000) == EPOCH_MS
