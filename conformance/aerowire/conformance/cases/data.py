"""Group C: data on its way into an image."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderDecoder
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.cases.data_contents import c19, c20, c21, c24
from aerowire.conformance.cases.data_refused import c06, c07, c08, c09, c10, c11, c12, c15, c16, c17, c18
from aerowire.conformance.cases.rebuilding import (
    LARGE_MTU,
    SILENCE_MS,
    await_room,
    check_untouched,
    expect_position,
    expect_positions,
    random_term,
    stream,
)
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, Bench
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.model import Case, Finding, case


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
    "C04",
    requirement="In an unreliable stream what is lost of a message becomes padding: the message is dropped and the next one is intact.",
    source="Aeron: PublicationImage.processPendingLoss; TermGapFiller.tryFillGap; FragmentAssembler",
    stimulus="a message in three fragments without the middle one to a subscription with reliable=false, then a whole message",
    expected="first and last fragment in their places with a PAD between them, the whole message; LOSS_GAP_FILLS + 1 and no NAK",
)
def c04(bench: Bench) -> None:
    """A lost fragment of an unreliable stream."""
    source = bench.source(bench.subscribe("reliable=false"))
    image = source.start()
    fills = bench.count(SystemCounter.LOSS_GAP_FILLS)
    mark = source.wire.mark()
    size = source.frames.mtu - DataHeaderDecoder.ENCODED_LENGTH
    sent = [
        (0, DataFlags.BEGIN, bench.random.randbytes(size)),
        (2 * source.frames.mtu, DataFlags.END, bench.random.randbytes(100)),
        (2 * source.frames.mtu + frames.aligned(100), DataFlags.UNFRAGMENTED, b"a whole message"),
    ]
    for position, flags, payload in sent:
        source.send(source.frames.data(position, payload, flags=flags))
    expect_positions(bench, source, sent[-1][0] + frames.aligned(len(sent[-1][2])))
    fragments = image.consume()
    check_equal("positions of what is delivered", [fragment.position for fragment in fragments], [position for position, _, _ in sent])
    check_equal("flags", [fragment.flags for fragment in fragments], [int(flags) for _, flags, _ in sent])
    if [fragment.payload for fragment in fragments] != [payload for _, _, payload in sent]:
        raise Finding("the fragments that arrived, unchanged", "others")
    source.wire.expect_none(frames.is_nak, "NAK of an unreliable stream", for_ms=SILENCE_MS, start=mark)
    bench.expect_count(SystemCounter.LOSS_GAP_FILLS, fills + 1)


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
    "C13",
    requirement="An image uses its three partitions in turn for ever, and clears a partition before data comes to it again.",
    source="Aeron: PublicationImage.cleanBufferTo; LogBufferDescriptor.indexByPosition",
    stimulus="five terms of frames of random lengths, each consumed before the next is sent",
    expected="every payload; before each frame zeros in the log where it and the next half term of data will stand",
)
def c13(bench: Bench) -> None:
    """Five terms."""
    source = bench.source(bench.subscribe(), mtu=LARGE_MTU)
    image = source.start()
    position = 0
    term_length = source.frames.term_length
    for _ in range(5):
        for payload in random_term(bench, source):
            await_room(source, position + frames.aligned(len(payload)))
            ahead = min(source.window, term_length - position % term_length)
            check_untouched(image, position, ahead, f"earlier terms ahead of position {position}")
            position = stream(source, image, position, [payload])
    expect_positions(bench, source, 5 * term_length)


@case(
    "C14",
    requirement="Term ids wrap from 2147483647 to -2147483648 in the middle of a stream, and positions go on.",
    source="Aeron: LogBufferDescriptor.computePosition; LogBufferDescriptor.computeTermIdFromPosition",
    stimulus="a stream whose initial term id is 2147483647, joined near the end of that term, and data into the next one",
    expected="all frames with their term ids; rcv-hwm and rcv-pos go on; a status message that names the term -2147483648",
)
def c14(bench: Bench) -> None:
    """The last term id and the first."""
    source = bench.source(bench.subscribe(), initial_term_id=2**31 - 1, mtu=LARGE_MTU)
    term_length = source.frames.term_length
    payload = bench.random.randbytes(LARGE_MTU - DataHeaderDecoder.ENCODED_LENGTH)
    position = term_length - LARGE_MTU
    image = source.start(position)
    mark = source.wire.mark()
    for _ in range(3):
        position = source.send_data(position, payload)
    expect_positions(bench, source, position)
    fragments = image.consume()
    check_equal("term ids of the frames", [fragment.term_id for fragment in fragments], [2**31 - 1, -(2**31), -(2**31)])
    if any(fragment.payload != payload for fragment in fragments):
        raise Finding("every payload as sent", "another one")
    source.wire.expect(
        lambda frame: (
            frames.is_plain_status(frame) and (frame.consumption_term_id, frame.consumption_term_offset) == source.frames.term(position)
        ),
        f"a status message at offset {position - term_length} of the term {-(2**31)}",
        within_ms=CONDUCTOR_MS,
        start=mark,
    )


@case(
    "C22",
    requirement="A heartbeat never overwrites data, and data may follow at a heartbeat's position.",
    source="Aeron: PublicationImage.insertPacket",
    stimulus="data; heartbeats at its start and behind it; data where the last heartbeat stood; another heartbeat there",
    expected="both payloads unchanged; HEARTBEATS_RECEIVED + 3",
)
def c22(bench: Bench) -> None:
    """Heartbeats among data."""
    source = bench.source(bench.subscribe())
    image = source.start()
    heartbeats = bench.count(SystemCounter.HEARTBEATS_RECEIVED)
    first, second = bench.random.randbytes(100), bench.random.randbytes(100)
    end = source.send_data(0, first)
    source.send(source.frames.heartbeat(0))
    source.send(source.frames.heartbeat(end))
    position = source.send_data(end, second)
    source.send(source.frames.heartbeat(end))
    bench.expect_count(SystemCounter.HEARTBEATS_RECEIVED, heartbeats + 3)
    expect_positions(bench, source, position)
    source.expect_payloads(image, [first, second])


@case(
    "C23",
    requirement="A heartbeat ahead of the data moves the high-water mark to its position.",
    source="Aeron: PublicationImage.insertPacket",
    stimulus="one frame, a heartbeat ten frames further on, then the frames between",
    expected="rcv-hwm at the heartbeat, rcv-pos behind the one frame; both at the heartbeat when the rest has come",
)
def c23(bench: Bench) -> None:
    """A heartbeat ahead of data."""
    source = bench.source(bench.subscribe())
    image = source.start()
    payloads = [bench.random.randbytes(100) for _ in range(11)]
    end = len(payloads) * frames.aligned(100)
    position = source.send_data(0, payloads[0])
    source.send(source.frames.heartbeat(end))
    expect_position(bench, source, CounterType.RCV_HWM, end)
    expect_position(bench, source, CounterType.RCV_POS, position)
    for payload in payloads[1:]:
        position = source.send_data(position, payload)
    expect_positions(bench, source, end)
    source.expect_payloads(image, payloads)


CASES: tuple[Case, ...] = (
    *(c01, c02, c03, c04, c05),
    *(c06, c07, c08, c09, c10, c11, c12),
    *(c13, c14, c15, c16, c17, c18),
    *(c19, c20, c21, c22, c23, c24),
)
