"""What cases about data on its way into an image share: streaming in step with the window, and holding a driver to what it must refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, REACTION_MS, Bench, Source
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.client import Image

if TYPE_CHECKING:
    from scapy.packet import Packet

SILENCE_MS = 10 * REACTION_MS
# What a receiver counts of packets that it does not take.
REFUSALS = (SystemCounter.INVALID_PACKETS, SystemCounter.FLOW_CONTROL_UNDER_RUNS, SystemCounter.FLOW_CONTROL_OVER_RUNS)
# Frames so large that a term takes few of them.
LARGE_MTU = 8192
GOOD = b"good data follows"


def expect_positions(bench: Bench, source: Source, position: int) -> None:
    """Wait until high-water mark and receiver position stand at `position`."""
    for counter in (CounterType.RCV_HWM, CounterType.RCV_POS):
        expect_position(bench, source, counter, position)


def expect_position(bench: Bench, source: Source, counter: CounterType, position: int) -> None:
    """Wait until one of an image's counters stands at `position`."""
    bench.expect(
        lambda: source.stream_counter(counter) == position,
        f"{counter.name} at {position}",
        within_ms=CONDUCTOR_MS,
        actual=lambda: f"{source.stream_counter(counter)}",
    )


def expect_refused(bench: Bench, source: Source, image: Image, counter: SystemCounter, *datagrams: bytes) -> None:
    """Send datagrams that must be counted once each, nowhere else, and dropped; then good data that must be delivered."""
    before = bench.count(counter)
    others = bench.counts(*(other for other in REFUSALS if other is not counter))
    for index, datagram in enumerate(datagrams):
        source.send(datagram)
        bench.expect_count(counter, before + index + 1)
    bench.pause(SILENCE_MS)
    check_equal("rcv-hwm after the refused packet", source.stream_counter(CounterType.RCV_HWM), image.join_position)
    check_equal("frames delivered of the refused packet", len(image.consume()), 0)
    expect_good_data(source, image)
    bench.expect_count(counter, before + len(datagrams))
    bench.expect_counts_unchanged(others)


def expect_good_data(source: Source, image: Image) -> None:
    """Send good data where the image began; it must be delivered."""
    source.send_data(image.join_position, GOOD)
    source.expect_payloads(image, [GOOD])


def check_untouched(image: Image, position: int, length: int, what: str) -> None:
    """Check that the image's log holds nothing but zeros in some bytes of the term buffer that a position falls into."""
    found = image.log.mapping.bytes_at(image.log.locate(position), length)
    check_equal(f"bytes of {what} in the log", len(found) - found.count(0), 0)


def await_room(source: Source, end: int) -> None:
    """Wait until the receiver allows to send up to `end`."""

    def has_room(frame: Packet) -> bool:
        if not frames.is_plain_status(frame):
            return False
        consumed = source.frames.position(frame.consumption_term_id, frame.consumption_term_offset)
        return consumed + int(frame.receiver_window) >= end

    source.wire.expect(has_room, f"a status message that opens the window up to {end}", within_ms=2 * CONDUCTOR_MS)


def stream(source: Source, image: Image, position: int, payloads: list[bytes]) -> int:
    """Send frames within the window, each when the one before was delivered and consumed; return the position behind them."""
    for payload in payloads:
        await_room(source, position + frames.aligned(len(payload)))
        position = source.send_data(position, payload)
        source.expect_payloads(image, [payload])
    return position


def random_term(bench: Bench, source: Source) -> list[bytes]:
    """Return payloads of different lengths whose frames fill a term to its end."""
    payloads: list[bytes] = []
    left = source.frames.term_length
    while left:
        length = min(left, frames.aligned(0) * bench.random.randrange(64, LARGE_MTU // frames.aligned(0) + 1))
        payloads.append(bench.random.randbytes(length - frames.aligned(0)))
        left -= length
    return payloads
