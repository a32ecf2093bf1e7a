"""Group C: data on its way into an image."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataFlags, DataHeaderDecoder, DataHeaderEncoder
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, REACTION_MS, Bench, Source
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.client import Image
from aerowire.conformance.model import Case, Finding, case

SILENCE_MS = 10 * REACTION_MS
# What a receiver counts of packets that it does not take.
REFUSALS = (SystemCounter.INVALID_PACKETS, SystemCounter.FLOW_CONTROL_UNDER_RUNS, SystemCounter.FLOW_CONTROL_OVER_RUNS)


def expect_positions(bench: Bench, source: Source, position: int) -> None:
    """Wait until high-water mark and receiver position stand at `position`."""
    for counter in (CounterType.RCV_HWM, CounterType.RCV_POS):
        bench.expect(
            lambda counter=counter: source.stream_counter(counter) == position,  # type: ignore[misc]
            f"{counter.name} at {position}",
            within_ms=CONDUCTOR_MS,
            actual=lambda counter=counter: f"{source.stream_counter(counter)}",  # type: ignore[misc]
        )


def expect_refused(bench: Bench, source: Source, image: Image, datagram: bytes, counter: SystemCounter) -> None:
    """Send a datagram that must be counted once, nowhere else, and dropped; then good data that must be delivered."""
    before = bench.count(counter)
    others = bench.counts(*(other for other in REFUSALS if other is not counter))
    source.send(datagram)
    bench.expect_count(counter, before + 1)
    bench.pause(SILENCE_MS)
    check_equal("rcv-hwm after the refused packet", source.stream_counter(CounterType.RCV_HWM), image.join_position)
    check_equal("frames delivered of the refused packet", len(image.consume()), 0)
    source.send_data(image.join_position, b"good data follows")
    source.expect_payloads(image, [b"good data follows"])
    bench.expect_count(counter, before + 1)
    bench.expect_counts_unchanged(others)


@case(
    "C01",
    requirement="Frames in order are delivered in order; high-water mark and receiver position move by their aligned lengths.",
    source="Aeron: PublicationImage.insertPacket; TermRebuilder",
    stimulus="DATA frames of 0, 1, 31, 32, 33 and 1000 bytes, one a datagram",
    expected="the same payloads; after each frame rcv-hwm and rcv-pos at the sum of the aligned lengths",
)
def c01(bench: Bench) -> None:
    """In-order delivery."""
    source = bench.source(bench.subscribe())
    image = source.start()
    payloads = [bench.random.randbytes(length) for length in (0, 1, 31, 32, 33, 1000)]
    position = 0
    for payload in payloads:
        position = source.send_data(position, payload)
        expect_positions(bench, source, position)
    source.expect_payloads(image, payloads)


@case(
    "C02",
    requirement="Several frames in one datagram are delivered like as many datagrams.",
    source="Aeron: PublicationImage.insertPacket",
    stimulus="one datagram of five DATA frames of different lengths",
    expected="five payloads; rcv-hwm and rcv-pos at the datagram's length",
)
def c02(bench: Bench) -> None:
    """Batched frames."""
    source = bench.source(bench.subscribe())
    image = source.start()
    payloads = [bench.random.randbytes(length) for length in (5, 64, 100, 32, 200)]
    position, datagram = 0, b""
    for payload in payloads:
        datagram += source.frames.data(position, payload)
        position += frames.aligned(len(payload))
    source.send(datagram)
    source.expect_payloads(image, payloads)
    expect_positions(bench, source, position)


@case(
    "C03",
    requirement="Fragments of a message up to an eighth of a term arrive with their flags, so that a client can put it together.",
    source="Aeron: FragmentAssembler; FrameDescriptor.computeMaxMessageLength",
    stimulus="a message of term/8 bytes in fragments of the MTU: BEGIN, middle ones without flags, END",
    expected="the same fragments with the same flags, and the message out of them",
)
def c03(bench: Bench) -> None:
    """Fragmented messages."""
    source = bench.source(bench.subscribe())
    image = source.start()
    message = bench.random.randbytes(source.frames.term_length // 8)
    size = source.frames.mtu - DataHeaderDecoder.ENCODED_LENGTH
    chunks = [message[at : at + size] for at in range(0, len(message), size)]
    flags = [DataFlags.BEGIN, *[DataFlags(0)] * (len(chunks) - 2), DataFlags.END]
    position = 0
    for chunk, flag in zip(chunks, flags, strict=True):
        source.send(source.frames.data(position, chunk, flags=flag))
        position += frames.aligned(len(chunk))
    expect_positions(bench, source, position)
    fragments = image.consume()
    check_equal("flags of the fragments", [fragment.flags for fragment in fragments], [int(flag) for flag in flags])
    if b"".join(fragment.payload for fragment in fragments) != message:
        raise Finding(f"a message of {len(message)} bytes", "the fragments make another one")


@case(
    "C05",
    requirement="A PAD frame of the header alone stands for all the bytes that it declares.",
    source="Aeron: PublicationImage.validatePacket; TermRebuilder",
    stimulus="a 32-byte PAD with frame_length 1024, then DATA at offset 1024",
    expected="rcv-hwm and rcv-pos + 1024; the DATA delivered",
    since="1.53",
)
def c05(bench: Bench) -> None:
    """Padding."""
    source = bench.source(bench.subscribe())
    image = source.start()
    source.send(source.frames.padding(0, 1024))
    expect_positions(bench, source, 1024)
    position = source.send_data(1024, b"behind the padding")
    source.expect_payloads(image, [b"behind the padding"])
    expect_positions(bench, source, position)


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
    expect_refused(bench, source, image, datagram, SystemCounter.INVALID_PACKETS)


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
    expect_refused(bench, source, image, datagram, SystemCounter.INVALID_PACKETS)


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
    expect_refused(bench, source, image, datagram, SystemCounter.FLOW_CONTROL_OVER_RUNS)


CASES: tuple[Case, ...] = (c01, c02, c03, c05, c06, c08, c17)
