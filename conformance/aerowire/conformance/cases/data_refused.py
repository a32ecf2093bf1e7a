"""Group C: data that a receiver must not take, and the last that it must."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataHeaderDecoder, DataHeaderEncoder, FrameType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.cases.rebuilding import (
    GOOD,
    LARGE_MTU,
    REFUSALS,
    SILENCE_MS,
    check_untouched,
    expect_good_data,
    expect_positions,
    expect_refused,
)
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import Bench
from aerowire.conformance.model import Finding, case


@case(
    "C06",
    requirement="A DATA frame that declares more than its datagram holds is an invalid packet and is not inserted.",
    source="Aeron: PublicationImage.validatePacket",
    stimulus="a 64-byte datagram whose DATA frame declares 128 bytes",
    expected="INVALID_PACKETS + 1, rcv-hwm unmoved; good data is delivered afterwards",
    since="1.53",
)
def c06(bench: Bench) -> None:
    """A frame longer than its datagram."""
    source = bench.source(bench.subscribe())
    image = source.start()
    datagram = source.frames.data(0, bytes(32), frame_length=128)
    expect_refused(bench, source, image, SystemCounter.INVALID_PACKETS, datagram)


@case(
    "C07",
    requirement="A datagram whose frames do not fill it to its end is an invalid packet and is not inserted.",
    source="Aeron: PublicationImage.validatePacket",
    stimulus="a 64-byte DATA frame with 32 bytes of zeros behind it, then one with 32 bytes that are no header",
    expected="INVALID_PACKETS + 1 for each, rcv-hwm unmoved; good data is delivered afterwards",
    since="1.53",
)
def c07(bench: Bench) -> None:
    """Trailing bytes."""
    source = bench.source(bench.subscribe())
    image = source.start()
    frame = source.frames.data(0, bytes(32))
    trailing = (bytes(FRAME_ALIGNMENT), b"\xff" * FRAME_ALIGNMENT)
    expect_refused(bench, source, image, SystemCounter.INVALID_PACKETS, *(frame + more for more in trailing))


@case(
    "C08",
    requirement="When a later frame's offset does not follow from the one before, the whole datagram is an invalid packet.",
    source="Aeron: PublicationImage.validatePacket",
    stimulus="two DATA frames in a datagram, the second one's term offset 32 too far",
    expected="INVALID_PACKETS + 1, neither frame delivered; good data is delivered afterwards",
    since="1.53",
)
def c08(bench: Bench) -> None:
    """A broken chain of offsets."""
    source = bench.source(bench.subscribe())
    image = source.start()
    second = bytearray(source.frames.data(64, b"second"))
    header = DataHeaderEncoder(second)
    header.term_offset = DataHeaderDecoder(second).term_offset + FRAME_ALIGNMENT
    datagram = source.frames.data(0, bytes(32)) + bytes(second)
    expect_refused(bench, source, image, SystemCounter.INVALID_PACKETS, datagram)


@case(
    "C09",
    requirement="A DATA frame that would reach beyond the end of its term is an invalid packet.",
    source="Aeron: PublicationImage.validatePacket",
    stimulus="a 96-byte DATA frame 64 bytes before the end of the term",
    expected="INVALID_PACKETS + 1, rcv-hwm unmoved; good data of 64 bytes is delivered there afterwards",
    since="1.53",
)
def c09(bench: Bench) -> None:
    """Beyond the end of the term."""
    source = bench.source(bench.subscribe())
    position = source.frames.term_length - frames.aligned(len(GOOD))
    image = source.start(position)
    datagram = source.frames.data(position, bytes(64))
    expect_refused(bench, source, image, SystemCounter.INVALID_PACKETS, datagram)


@case(
    "C10",
    requirement="When a later frame of a datagram is neither DATA nor PAD, the whole datagram is an invalid packet.",
    source="Aeron: PublicationImage.validatePacket",
    stimulus="two frames in a datagram, the second one marked as NAK, as SETUP and as type -1 in turn",
    expected="INVALID_PACKETS + 1 for each, neither frame delivered; good data is delivered afterwards",
    since="1.53",
)
def c10(bench: Bench) -> None:
    """A later frame of another type."""
    source = bench.source(bench.subscribe())
    image = source.start()
    datagrams: list[bytes] = []
    for kind in (FrameType.NAK, FrameType.SETUP, FrameType.EXT):
        second = bytearray(source.frames.data(64, b"second"))
        DataHeaderEncoder(second).type = kind
        datagrams.append(source.frames.data(0, bytes(32)) + bytes(second))
    expect_refused(bench, source, image, SystemCounter.INVALID_PACKETS, *datagrams)


@case(
    "C11",
    requirement="A frame length of zero makes a heartbeat of a bare header only; with bytes behind the header it is an invalid packet.",
    source="Aeron: PublicationImage.validatePacket; DataHeaderFlyweight.isHeartbeat",
    stimulus="a 64-byte datagram whose DATA frame declares a length of 0",
    expected="INVALID_PACKETS + 1, HEARTBEATS_RECEIVED and rcv-hwm unmoved; good data is delivered afterwards",
    since="1.53",
)
def c11(bench: Bench) -> None:
    """A heartbeat with a body."""
    source = bench.source(bench.subscribe())
    image = source.start()
    heartbeats = bench.counts(SystemCounter.HEARTBEATS_RECEIVED)
    datagram = source.frames.data(0, bytes(32), frame_length=0)
    expect_refused(bench, source, image, SystemCounter.INVALID_PACKETS, datagram)
    bench.expect_counts_unchanged(heartbeats)


@case(
    "C12",
    requirement="A term offset below zero, at or beyond the end of the term, or off the frame alignment makes a packet invalid.",
    source="Aeron: PublicationImage.validatePacket",
    stimulus="DATA at the term offsets -32, 16, the term's length and 32 beyond it",
    expected="INVALID_PACKETS + 1 for each, rcv-hwm unmoved; good data is delivered afterwards",
    since="1.53",
)
def c12(bench: Bench) -> None:
    """Impossible offsets."""
    source = bench.source(bench.subscribe())
    image = source.start()
    term_length = source.frames.term_length
    datagrams: list[bytes] = []
    for term_offset in (-FRAME_ALIGNMENT, FRAME_ALIGNMENT // 2, term_length, term_length + FRAME_ALIGNMENT):
        datagram = bytearray(source.frames.data(0, bytes(32)))
        DataHeaderEncoder(datagram).term_offset = term_offset
        datagrams.append(bytes(datagram))
    expect_refused(bench, source, image, SystemCounter.INVALID_PACKETS, *datagrams)


@case(
    "C15",
    requirement="Data of a term before the stream's initial one is dropped without a reply.",
    source="Aeron: PublicationImage.isFlowControlUnderRun; LogBufferDescriptor.computePosition",
    stimulus="a DATA frame at the end of the term before the initial one",
    expected="nothing delivered or stored, no reply; FLOW_CONTROL_UNDER_RUNS + 1 or + 0 (a liberty); good data is delivered afterwards",
)
def c15(bench: Bench) -> None:
    """A term before the first."""
    source = bench.source(bench.subscribe())
    image = source.start()
    under_runs = bench.count(SystemCounter.FLOW_CONTROL_UNDER_RUNS)
    others = bench.counts(SystemCounter.INVALID_PACKETS, SystemCounter.FLOW_CONTROL_OVER_RUNS, SystemCounter.ERRORS)
    frame = source.frames.data(-64, b"older than the stream")
    mark = source.wire.mark()
    source.send(frame)
    source.wire.expect_none(lambda each: not frames.is_plain_status(each), "reply to data of an older term", for_ms=SILENCE_MS, start=mark)
    check_untouched(image, -len(frame), len(frame), "an older term's data")
    expect_good_data(source, image)
    expect_positions(bench, source, frames.aligned(len(GOOD)))
    counted = bench.count(SystemCounter.FLOW_CONTROL_UNDER_RUNS) - under_runs
    if counted not in (0, 1):
        raise Finding("FLOW_CONTROL_UNDER_RUNS up by 1 or by 0", f"up by {counted}")
    bench.expect_counts_unchanged(others)


@case(
    "C16",
    requirement="Data that begins before the position of the last status message is an under-run: counted and not inserted.",
    source="Aeron: PublicationImage.isFlowControlUnderRun",
    stimulus="a stream that is joined at 4096, then a DATA frame at position 0",
    expected="FLOW_CONTROL_UNDER_RUNS + 1, nothing stored; good data is delivered afterwards",
)
def c16(bench: Bench) -> None:
    """Under-run."""
    source = bench.source(bench.subscribe())
    image = source.start(4096)
    frame = source.frames.data(0, b"behind the window")
    expect_refused(bench, source, image, SystemCounter.FLOW_CONTROL_UNDER_RUNS, frame)
    check_untouched(image, 0, len(frame), "the under-run")


@case(
    "C17",
    requirement="Data that ends more than half a term beyond the last status message is an over-run: counted and dropped.",
    source="Aeron: PublicationImage.isFlowControlOverRun",
    stimulus="a 64-byte frame that ends 32 bytes beyond term/2",
    expected="FLOW_CONTROL_OVER_RUNS + 1, rcv-hwm unmoved; good data is delivered afterwards",
)
def c17(bench: Bench) -> None:
    """Over-run."""
    source = bench.source(bench.subscribe())
    image = source.start()
    datagram = source.frames.data(source.frames.term_length // 2 - 32, bytes(32))
    expect_refused(bench, source, image, SystemCounter.FLOW_CONTROL_OVER_RUNS, datagram)


@case(
    "C18",
    requirement="Data that ends exactly half a term beyond the last status message is accepted.",
    source="Aeron: PublicationImage.isFlowControlOverRun",
    stimulus="four frames of an eighth of a term, none of them consumed before the last has arrived",
    expected="rcv-hwm and rcv-pos at term/2, all four delivered, no refusal counted",
)
def c18(bench: Bench) -> None:
    """The last byte of the window."""
    source = bench.source(bench.subscribe(), mtu=LARGE_MTU)
    image = source.start()
    before = bench.counts(*REFUSALS)
    payloads = [bench.random.randbytes(LARGE_MTU - DataHeaderDecoder.ENCODED_LENGTH) for _ in range(4)]
    position = 0
    for payload in payloads:
        position = source.send_data(position, payload)
    expect_positions(bench, source, source.frames.term_length // 2)
    source.expect_payloads(image, payloads)
    bench.expect_counts_unchanged(before)
