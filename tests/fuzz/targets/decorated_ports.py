"""Ports that lose and that capture what comes in: loss interceptors, the driver's capture records, and the reader of these."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from aerowire.driver.media.capture import CaptureWriter
from aerowire.driver.media.capture_port import CapturePort, CaptureTap
from aerowire.driver.media.loss_interceptors import FixedLoss, LossInterceptor, MultiGapLoss, RandomLoss
from aerowire.driver.media.loss_port import LossPort
from aerowire.pcap.capture import Capture
from aerowire.simulation.link_faults import LinkFaults
from aerowire.simulation.network import SimulatedNetwork
from aerowire.system.clock import ManualClock
from tests.fuzz.fields import Fields, int32s
from tests.fuzz.target import FindingError

A, B = ("10.0.0.1", 5000), ("10.0.0.2", 6000)
SIX, OTHER_SIX = ("fe80::1", 5000), ("fe80::2", 6000)
STEPS_MAX = 16
MS = 1_000_000


class DecoratedPortTarget:
    """Which interceptors there are and their numbers, then datagrams, each with two bytes of length before it."""

    name = "ports"
    length_max = 512
    words = (int32s(2**31 - 1), int32s(-1), int32s(64), int32s(1 << 30), b"\x20\0", b"\0\x01\0\0", b"\0\x05\0\0", int32s(-32))
    traced = ()

    def __init__(self) -> None:
        self._path = Path(tempfile.mkdtemp(prefix="ports-")) / "file.pcapng"

    def seeds(self) -> Iterable[bytes]:
        """Return datagrams behind each interceptor."""
        data = int32s(64) + b"\0\xc0\x01\0" + int32s(0, 1, 10, 7) + bytes(40)
        datagram = b"\x40\0" + data
        yield b"\0" + datagram
        yield b"\x01\x80" + b"\x02\0" + datagram * 2
        yield b"\x02" + int32s(7, 0, 64) + datagram * 2
        yield b"\x04" + int32s(7, 64, 64, 4) + datagram * 2
        yield b"\x17" + b"\x80\xff\xff" + int32s(7, 0, 64) + int32s(7, 64, 64, 4) + datagram

    def execute(self, data: bytes) -> None:
        """Send the datagrams through the ports, and read the capture of them."""
        fields = Fields(data)
        how = fields.unsigned(1)
        interceptors = self._interceptors(how, fields)
        clock = ManualClock(now_ns=0, epoch_ms=1_700_000_000_000)
        network = SimulatedNetwork(clock, seed=1, faults=LinkFaults(latency_ns=0))
        here, there = (OTHER_SIX, SIX) if how & 16 else (B, A)
        sender = network.open_port(there, here)
        writer = CaptureWriter(self._path, clock, overwrites=True)
        inner = network.open_port(here)
        port = CapturePort(LossPort(inner, interceptors=interceptors), CaptureTap(writer, local=here))
        sent = came = 0
        for _ in range(STEPS_MAX):
            if fields.is_empty:
                break
            datagram = fields.take(fields.unsigned(2))
            sent += sender.send_datagrams([(datagram, None)])
            got = port.receive_datagrams(2)
            came += len(got)
            if any(len(payload) > len(data) for payload, _, _ in got):
                raise FindingError("a datagram came that is longer than all that was sent")
            clock.advance(MS)
        writer.close()
        if came > sent or writer.packet_count != came:
            raise FindingError(f"{came} of {sent} datagrams came, {writer.packet_count} are in the capture")
        Capture(self._path, payload=True).read()

    @staticmethod
    def _interceptors(how: int, fields: Fields) -> list[LossInterceptor]:
        def signed(count: int) -> list[int]:
            return [fields.signed(4) for _ in range(count)]

        made: list[LossInterceptor] = []

        def make(kind: Callable[[], LossInterceptor]) -> None:
            try:
                made.append(kind())
            except (ValueError, OverflowError):  # numbers outside an option's range
                return

        if how & 1:
            rate, types = fields.unsigned(1) / 255, fields.unsigned(2)
            make(lambda: RandomLoss(rate=rate, seed=how, types=types))
        if how & 2:
            term_id, term_offset, length = signed(3)
            make(lambda: FixedLoss(term_id=term_id, term_offset=term_offset, length=length))
        if how & 4:
            term_id, radix, length, total = signed(4)
            make(lambda: MultiGapLoss(term_id=term_id, gap_radix=radix, gap_length=length, total_gaps=total))
        return made
