"""Group V: large datagrams, messages and terms."""

from __future__ import annotations

import time

from aerowire.codecs.flyweights.transport import (
    FRAME_ALIGNMENT,
    MAX_MESSAGE_LENGTH,
    MAX_UDP_PAYLOAD,
    TERM_LENGTH_MAX,
    DataFlags,
    DataHeaderDecoder,
)
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.conformance.cases.refusals import expect_refusal
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, Bench, Sink, Source
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.client import CommandRefused, Image
from aerowire.conformance.harness.ring import align
from aerowire.conformance.model import Case, Finding, MachineLacks, case

HEADER = DataHeaderDecoder.ENCODED_LENGTH
KIB, MIB = 1 << 10, 1 << 20
# The least terms that take the largest MTU: eight messages have to fit.
TERM_OF_LARGE_MTU = 512 * KIB
TERM_OF_LARGE_MESSAGE = 128 * MIB
# What the harness's socket holds, whatever the machine's limits: it has to be read in time.
WINDOW = 128 * KIB
LARGE_MS = 5_000.0
# A file of which little is written takes little: three terms of a GiB in less than this.
SPARSE_MAX = 32 * MIB
BLOCK = 512
FRAGMENT = 1480
FRAGMENTED_MTU = 8192


def refuse_for_space(bench: Bench, params: str) -> Sink:
    """Add a publication. Raises MachineLacks where the driver's directory has no room for it."""
    try:
        return bench.publish(params)
    except CommandRefused as refusal:
        if refusal.code == ErrorCode.STORAGE_SPACE:
            raise MachineLacks(f"room for a publication with {params}", refusal.actual) from None
        raise


def stream_of(bench: Bench, mtu: int, term_length: int) -> Source:
    """Play the sender of a stream with large frames or terms to a new subscription."""
    source = bench.source(bench.subscribe(), mtu=mtu)
    source.frames.term_length = term_length
    return source


@case(
    "V01",
    requirement="Datagrams of up to 65,504 bytes are sent and taken whole where the MTU of the channel says so.",
    source="Aeron: Configuration.MAX_UDP_PAYLOAD_LENGTH; TermGapFiller; NetworkPublication.sendData",
    stimulus="a stream with mtu 65504 to a subscription, and a publication with mtu=65504: a message of 65,472 bytes each",
    expected="the message delivered; the message in one datagram of 65,504 bytes",
)
def v01(bench: Bench) -> None:
    """The largest datagrams."""
    payload = bench.random.randbytes(MAX_UDP_PAYLOAD - HEADER)
    source = stream_of(bench, MAX_UDP_PAYLOAD, TERM_OF_LARGE_MTU)
    image = source.start()
    source.send_data(0, payload)
    source.expect_payloads(image, [payload])
    sink = bench.publish(f"mtu={MAX_UDP_PAYLOAD}|term-length={TERM_OF_LARGE_MTU}")
    sink.connect()
    sent = sink.publish([payload])
    check_equal("lengths of the datagrams", [len(arrival.payload) for arrival in sent], [MAX_UDP_PAYLOAD])
    check_equal("payload as written", sent[0].payload[HEADER:] == payload, True)


@case(
    "V02",
    requirement="A message of 16 MiB goes through terms of 128 MiB, in fragments, within the windows of its receivers.",
    source="Aeron: FrameDescriptor.computeMaxMessageLength, MAX_MESSAGE_LENGTH; TermRebuilder; ExclusivePublication",
    stimulus="such a message to a subscription, and by a publication, with an MTU of 65504 and a window of 128 KiB",
    expected="BEGIN and END on the first and last fragment, all bytes as they were written",
    bound="5 s each",
)
def v02(bench: Bench) -> None:
    """The largest message."""
    message = bench.random.randbytes(MAX_MESSAGE_LENGTH)
    # First, as an image of such terms that has no room is only missing, and a publication is refused with the reason.
    sink = refuse_for_space(bench, f"mtu={MAX_UDP_PAYLOAD}|term-length={TERM_OF_LARGE_MESSAGE}")
    source = stream_of(bench, MAX_UDP_PAYLOAD, TERM_OF_LARGE_MESSAGE)
    image = source.start()
    check_equal("message delivered as it was sent", stream_message(bench, source, image, message) == message, True)
    check_equal("message sent as it was written", receive_message(bench, sink, message) == message, True)


def stream_message(bench: Bench, source: Source, image: Image, message: bytes) -> bytes:
    """Send a message in fragments as fast as the receiver's windows let; return what was delivered."""
    size = source.frames.mtu - HEADER
    chunks = [message[at : at + size] for at in range(0, len(message), size)]
    got: list[bytes] = []
    position, limit, seen, index = 0, 0, 0, 0
    deadline = time.monotonic() + LARGE_MS / 1e3
    while len(got) < len(chunks):
        source.wire.read()
        for arrival in source.wire.arrivals[seen:]:
            if arrival.frames and frames.is_plain_status(arrival.first):
                at = source.frames.position(arrival.first.consumption_term_id, arrival.first.consumption_term_offset)
                limit = max(limit, at + arrival.first.receiver_window)
        seen = len(source.wire.arrivals)
        while index < len(chunks) and position + align(HEADER + len(chunks[index]), FRAME_ALIGNMENT) <= limit:
            flags = (DataFlags.BEGIN if index == 0 else DataFlags(0)) | (DataFlags.END if index == len(chunks) - 1 else DataFlags(0))
            source.send(source.frames.data(position, chunks[index], flags=int(flags)))
            position += frames.aligned(len(chunks[index]))
            index += 1
        got.extend(fragment.payload for fragment in image.consume())
        bench.client.poll()
        if time.monotonic() > deadline:
            raise Finding(f"{len(chunks)} fragments delivered within {LARGE_MS:g} ms", f"{len(got)} of {index} that were sent")
    return b"".join(got)


def receive_message(bench: Bench, sink: Sink, message: bytes) -> bytes:
    """Publish a message and take its fragments, opening a window behind each; return what came."""
    sink.send_status(window=WINDOW)
    bench.expect(sink.is_connected, "the publication to be connected", within_ms=CONDUCTOR_MS)
    mark = sink.wire.mark()
    end = sink.publication.append(message)
    parts: dict[int, bytes] = {}
    consumed = told = seen = 0
    deadline = time.monotonic() + LARGE_MS / 1e3
    while consumed < end:
        sink.wire.wait(time.monotonic_ns() + 10_000_000)
        for arrival in sink.wire.arrivals[mark + seen :]:
            header = DataHeaderDecoder(arrival.payload)
            if header.frame_length > HEADER:
                parts[sink.frames.position(header.term_id, header.term_offset)] = arrival.payload[HEADER : header.frame_length]
        seen = len(sink.wire.arrivals) - mark
        while consumed in parts:
            consumed += frames.aligned(len(parts[consumed]))
        if consumed - told >= WINDOW // 4 or consumed == end:
            sink.send_status(consumed, window=WINDOW)
            told = consumed
        bench.client.poll()
        if time.monotonic() > deadline:
            raise Finding(f"the message sent within {LARGE_MS:g} ms", f"{consumed} of {end} bytes of the term came")
    return b"".join(parts[position] for position in sorted(parts))


@case(
    "V03",
    requirement="A publication whose MTU is larger than the send buffer of its socket is refused.",
    source="Aeron: PublicationParams.validateMtuForSndbuf",
    stimulus="publications with mtu=16384 and so-sndbuf=32768, and with so-sndbuf=8192",
    expected="the first is added; an error for the second",
)
def v03(bench: Bench) -> None:
    """Datagrams that the socket cannot take."""
    params = f"mtu={16 * KIB}|term-length={TERM_OF_LARGE_MTU}|so-sndbuf="
    bench.publish(f"{params}{32 * KIB}")
    expect_refusal(lambda: bench.publish(f"{params}{8 * KIB}"), "an MTU beyond the send buffer")


@case(
    "V04",
    requirement="Terms may have 1 GiB; with sparse=true their file takes the room of what was written.",
    source="Aeron: LogBufferDescriptor.TERM_MAX_LENGTH; RawLogFactory; aeron:udp sparse",
    stimulus="a publication with term-length=1g and sparse=true, and a message; a stream with such terms to a subscription",
    expected="SETUPs with that length and the message; a file of three terms that takes less than 32 MiB; the stream's message delivered",
)
def v04(bench: Bench) -> None:
    """The largest terms."""
    sink = refuse_for_space(bench, "term-length=1g|sparse=true")
    setup = sink.wire.expect(frames.is_setup, "a SETUP", within_ms=CONDUCTOR_MS).first
    check_equal("term length of the SETUP", setup.term_length, TERM_LENGTH_MAX)
    sink.connect()
    sink.publish([b"into large terms"])
    check_equal("term length of the log", sink.publication.log.term_length, TERM_LENGTH_MAX)
    status = sink.publication.log.path.stat()
    if status.st_size < 3 * TERM_LENGTH_MAX or status.st_blocks * BLOCK > SPARSE_MAX:
        expected = f"a file of at least {3 * TERM_LENGTH_MAX} bytes that takes at most {SPARSE_MAX}"
        raise Finding(expected, f"{status.st_size} bytes, {status.st_blocks * BLOCK} taken")
    source = stream_of(bench, frames.DEFAULT_MTU, TERM_LENGTH_MAX)
    image = source.start()
    source.send_data(0, b"out of large terms")
    source.expect_payloads(image, [b"out of large terms"])


@case(
    "V05",
    requirement="A datagram that comes in IP fragments is one datagram.",
    source="Aeron: UdpChannelTransport.receive; Linux: ip(7)",
    stimulus="a datagram of 8 KiB of data in six IP fragments, in order and in reverse",
    expected="the data delivered each time",
)
def v05(bench: Bench) -> None:
    """Datagrams in pieces."""
    source = bench.source(bench.subscribe(), mtu=FRAGMENTED_MTU)
    image = source.start()
    position = 0
    for is_reversed in (False, True):
        payload = bench.random.randbytes(FRAGMENTED_MTU - HEADER)
        datagram = source.frames.data(position, payload)
        source.wire.send_in_fragments(datagram, source.subscription.address, size=FRAGMENT, is_reversed=is_reversed)
        source.expect_payloads(image, [payload])
        position += len(datagram)


CASES: tuple[Case, ...] = (v01, v02, v03, v04, v05)
