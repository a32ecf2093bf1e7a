"""Group C: what a subscriber finds in the frames that arrived."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderDecoder
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.cases.rebuilding import LARGE_MTU, await_room, expect_positions
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import Bench
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.client import Image
from aerowire.conformance.harness.log import Fragment
from aerowire.conformance.model import Finding, case

# A few times what the frames of C21 take.
POLL_TIMEOUT_S = 5.0
# Clocks of two processes on one machine; a driver may correct its own now and then.
CLOCK_SLACK_NS = 100_000_000
STAMP = slice(8, 16)
UNSTAMPED = 0x5A5A5A5A


@case(
    "C19",
    requirement="The reserved value of a frame arrives as it was sent.",
    source="Aeron: TermRebuilder.insert; Header.reservedValue",
    stimulus="frames with the reserved values 0, 1, -1, the largest, the smallest and a random one",
    expected="the same values with the payloads",
)
def c19(bench: Bench) -> None:
    """Reserved values."""
    source = bench.source(bench.subscribe())
    image = source.start()
    values = [0, 1, -1, 2**63 - 1, -(2**63), bench.random.randrange(-(2**63), 2**63)]
    position = 0
    for value in values:
        source.send(source.frames.data(position, b"with a value", reserved_value=value))
        position += frames.aligned(len(b"with a value"))
    expect_positions(bench, source, position)
    fragments = image.consume()
    check_equal("payloads", [fragment.payload for fragment in fragments], [b"with a value"] * len(values))
    check_equal("reserved values", [fragment.reserved_value for fragment in fragments], values)


@case(
    "C20",
    requirement="A DATA frame without payload is delivered as an empty message.",
    source="Aeron: PublicationImage.insertPacket; DataHeaderFlyweight.isHeartbeat",
    stimulus="an empty frame of 32 bytes before, between and behind others, alone in a datagram and within one",
    expected="the empty messages in their places; no heartbeat counted",
)
def c20(bench: Bench) -> None:
    """Empty messages."""
    source = bench.source(bench.subscribe())
    image = source.start()
    heartbeats = bench.counts(SystemCounter.HEARTBEATS_RECEIVED)
    position = source.send_data(0, b"")
    position = source.send_data(position, b"between")
    payloads = [b"", b"between", b"in one datagram", b"", b""]
    datagram = b""
    for payload in payloads[2:]:
        datagram += source.frames.data(position, payload)
        position += frames.aligned(len(payload))
    source.send(datagram)
    source.expect_payloads(image, payloads)
    expect_positions(bench, source, position)
    bench.expect_counts_unchanged(heartbeats)


@case(
    "C21",
    requirement="A subscriber that polls all the while never sees a frame before all of it is there.",
    source="Aeron: TermRebuilder.insert; FrameDescriptor.frameLengthOrdered",
    stimulus="150 frames of an eighth of a term while a thread polls the log without a pause",
    expected="each frame whole when its length first shows",
)
def c21(bench: Bench) -> None:
    """Polling while frames arrive."""
    source = bench.source(bench.subscribe(), mtu=LARGE_MTU)
    image = source.start()
    # Without a zero, so that bytes that are not there yet would show.
    payloads = [bytes([1 + index % 255]) * (LARGE_MTU - DataHeaderDecoder.ENCODED_LENGTH) for index in range(150)]
    is_over = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(poll_all, image, payloads, is_over)
        position = 0
        try:
            for payload in payloads:
                if watching.done():
                    break
                await_room(source, position + LARGE_MTU)
                position = source.send_data(position, payload)
            watching.result()
        finally:
            is_over.set()
    expect_positions(bench, source, position)


def poll_all(image: Image, expected: list[bytes], is_over: threading.Event) -> None:
    """Poll until all of `expected` came or nobody waits for it. Raises Finding for a frame that is not whole or stays away."""
    pending = iter(expected)
    came = 0
    deadline = time.monotonic() + POLL_TIMEOUT_S
    while came < len(expected) and not is_over.is_set():
        for fragment in image.consume():
            payload = next(pending)
            came += 1
            if fragment.payload != payload:
                missing = sum(a != b for a, b in zip(fragment.payload, payload, strict=False)) + abs(len(fragment.payload) - len(payload))
                raise Finding("whole frames only", f"a frame at position {fragment.position} with {missing} of its bytes missing")
        if time.monotonic() > deadline:
            raise Finding(f"{len(expected)} frames", f"{came} came in {POLL_TIMEOUT_S:g} s")
        time.sleep(0)


class Stamped(NamedTuple):
    """A frame of C24: whether it fits a time at its offset, and whether it is to get one there or in the reserved value."""

    length: int
    flags: DataFlags
    is_stamped_within: bool
    is_stamped_in_header: bool


# Two datagrams: many frames in the first, one in the second.
STAMPED_FRAMES = (
    (
        Stamped(24, DataFlags.UNFRAGMENTED, True, True),
        Stamped(16, DataFlags.BEGIN, True, True),
        Stamped(24, DataFlags(0), False, False),
        Stamped(24, DataFlags.END, False, False),
        Stamped(15, DataFlags.UNFRAGMENTED, False, True),
        Stamped(0, DataFlags.UNFRAGMENTED, False, True),
    ),
    (Stamped(100, DataFlags.UNFRAGMENTED, True, True),),
)


@case(
    "C24",
    requirement="Every frame that begins a message is stamped with the time of reception at the channel's offset, if it has room there.",
    source="Aeron: PublicationImage.validatePacket; UdpChannel.channelReceiveTimestampOffset",
    stimulus="frames with and without BEGIN, with room and without, many in a datagram, with channel-rcv-ts-offset=8 and =reserved",
    expected="the time of reception in the payload or the reserved value of every frame with BEGIN and room; all else as sent",
    since="1.53",
)
def c24(bench: Bench) -> None:
    """Times of reception."""
    sent = [frame for datagram in STAMPED_FRAMES for frame in datagram]
    since_ns = time.time_ns()
    fragments = receive_stamped(bench, "8")
    for fragment, frame in zip(fragments, sent, strict=True):
        payload = bytearray(fragment.payload)
        if frame.is_stamped_within:
            check_stamp(f"bytes 8 to 15 at position {fragment.position}", int.from_bytes(payload[STAMP], "little"), since_ns)
            payload[STAMP] = bytes([0x5A]) * 8
        check_equal(f"other bytes at position {fragment.position}", bytes(payload), bytes([0x5A]) * frame.length)
        check_equal("reserved value", fragment.reserved_value, UNSTAMPED)
    since_ns = time.time_ns()
    fragments = receive_stamped(bench, "reserved")
    for fragment, frame in zip(fragments, sent, strict=True):
        if frame.is_stamped_in_header:
            check_stamp(f"reserved value at position {fragment.position}", fragment.reserved_value, since_ns)
        else:
            check_equal(f"reserved value at position {fragment.position}", fragment.reserved_value, UNSTAMPED)
        check_equal(f"bytes at position {fragment.position}", fragment.payload, bytes([0x5A]) * frame.length)


def receive_stamped(bench: Bench, offset: str) -> Sequence[Fragment]:
    """Send the frames of C24 to a subscription that stamps at `offset`; return what it delivers."""
    source = bench.source(bench.subscribe(f"channel-rcv-ts-offset={offset}"))
    image = source.start()
    position = 0
    for batch in STAMPED_FRAMES:
        datagram = b""
        for frame in batch:
            payload = bytes([0x5A]) * frame.length
            datagram += source.frames.data(position, payload, flags=frame.flags, reserved_value=UNSTAMPED)
            position += frames.aligned(frame.length)
        source.send(datagram)
    expect_positions(bench, source, position)
    fragments = image.consume()
    check_equal("frames delivered", len(fragments), sum(len(batch) for batch in STAMPED_FRAMES))
    return fragments


def check_stamp(what: str, value: int, since_ns: int) -> None:
    """Check that a value is a time of reception since `since_ns`, in nanoseconds of the epoch."""
    if not since_ns - CLOCK_SLACK_NS <= value <= time.time_ns() + CLOCK_SLACK_NS:
        raise Finding(f"{what} = the time of reception", f"{what} = {value}")
