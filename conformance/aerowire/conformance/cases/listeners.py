"""Several receivers of one of the driver's streams, as the cases of flow control play them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, ErrorFlags, ErrorFrameEncoder, StatusMessageEncoder
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, REACTION_MS, TIMER_TOLERANCE_MS, Bench, Sink
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.ring import align
from aerowire.conformance.model import Finding

if TYPE_CHECKING:
    from scapy.packet import Packet

SILENCE_MS = 10 * REACTION_MS
# Messages that make frames of 1 KiB, each a datagram of its own.
KIB = 1024
MESSAGE = bytes(KIB - frames.aligned(0))
# How often a receiver that lives says so.
STATUS_PERIOD_MS = 50.0


def append(sink: Sink, count: int) -> None:
    """Append messages of 1 KiB each, whatever may be sent."""
    for _ in range(count):
        sink.publication.append(MESSAGE)


def expect_sent(sink: Sink, position: int) -> None:
    """Wait until data up to `position` came, and watch that nothing beyond it does."""
    made, wire = sink.frames, sink.wire

    def end(frame: Packet) -> int:
        return made.position(frame.term_id, frame.term_offset) + align(frame.frame_length, FRAME_ALIGNMENT)

    if position > 0:
        wire.expect(lambda frame: frames.is_data(frame) and end(frame) == position, f"data up to {position}", within_ms=CONDUCTOR_MS)
    wire.collect(SILENCE_MS)
    found = [end(frame) for arrival in wire.arrivals for frame in arrival.frames if frames.is_data(frame)]
    check_equal("position up to which data was sent", max(found, default=0), position)


def expect_value(bench: Bench, sink: Sink, counter: CounterType, value: int, *, within_ms: float = CONDUCTOR_MS) -> None:
    """Wait until a counter of the stream has a value."""
    bench.expect(
        lambda: sink.counter(counter) == value,
        f"counter {counter.name} at {value}",
        within_ms=within_ms,
        actual=lambda: f"it is at {sink.counter(counter)}",
    )


class Group:
    """A publication to a multicast group and its receivers, who differ in their ids: 1, 2 and so on beyond the sink's."""

    def __init__(self, bench: Bench, params: str = "") -> None:
        self._bench = bench
        self.sink = bench.publish_to_group(params)
        self.sink.wire.expect(frames.is_setup, "a SETUP", within_ms=CONDUCTOR_MS)

    def status(self, receiver: int, position: int, window: int, *, flags: int = 0, tag: bytes = b"") -> int:
        """Send a receiver's status message, with a group tag or what stands in its place; return when it left."""
        made = self.sink.frames
        datagram = bytearray(made.status(position, window, self.sink.receiver_id + receiver, flags=flags) + tag)
        StatusMessageEncoder(datagram).frame_length = len(datagram)
        return self.sink.send(bytes(datagram))

    def elicit(self, receiver: int, *, tag: bytes = b"") -> int:
        """Let a receiver ask for a SETUP; return when the request left."""
        datagram = bytearray(self.sink.frames.elicit(self.sink.receiver_id + receiver) + tag)
        StatusMessageEncoder(datagram).frame_length = len(datagram)
        return self.sink.send(bytes(datagram))

    def reject(self, receiver: int, *, tag: int | None = None) -> int:
        """Let a receiver reject the stream by an ERR frame, with its group tag where it has one; return when it left."""
        datagram = bytearray(self.sink.frames.error(self.sink.receiver_id + receiver, ErrorCode.GENERIC_ERROR, "enough"))
        if tag is not None:
            frame = ErrorFrameEncoder(datagram)
            frame.flags = ErrorFlags.HAS_GROUP_TAG
            frame.group_tag = tag
        return self.sink.send(bytes(datagram))

    def expect_heard(self, before: int, count: int = 1) -> None:
        """Wait until so many status messages were counted since the counter was at `before`, and their effects had time to show."""
        self._bench.expect_count(SystemCounter.STATUS_MESSAGES_RECEIVED, before + count)
        self._bench.pause(SILENCE_MS)

    def expect_limit(self, position: int, *, within_ms: float = CONDUCTOR_MS) -> None:
        """Wait until the sender may send up to a position."""
        expect_value(self._bench, self.sink, CounterType.SND_LMT, position, within_ms=within_ms)

    def expect_receivers(self, count: int, *, within_ms: float = CONDUCTOR_MS) -> None:
        """Wait until flow control reckons with so many receivers."""
        expect_value(self._bench, self.sink, CounterType.FC_RECEIVERS, count, within_ms=within_ms)

    def expect_forgotten(self, silent_ns: int, timeout_ms: float, *, receiver: int, position: int, window: int) -> None:
        """While one receiver goes on, wait until the other, silent since `silent_ns`, is forgotten, which must not be early."""
        while (elapsed_ms := (time.monotonic_ns() - silent_ns) / 1e6) < timeout_ms - STATUS_PERIOD_MS:
            self.status(receiver, position, window)
            self._bench.pause(min(STATUS_PERIOD_MS, timeout_ms - STATUS_PERIOD_MS - elapsed_ms))
            count = self.sink.counter(CounterType.FC_RECEIVERS)
            # A late look proves nothing.
            if count != 2 and (time.monotonic_ns() - silent_ns) / 1e6 < timeout_ms:
                raise Finding(f"2 receivers for {timeout_ms:g} ms", f"{count} after {elapsed_ms:.0f} ms")
        self.status(receiver, position, window)
        remaining_ms = max(0.0, timeout_ms - (time.monotonic_ns() - silent_ns) / 1e6)
        self.expect_receivers(1, within_ms=remaining_ms + TIMER_TOLERANCE_MS)
