"""Group F: retransmission, as a sender does it."""

from __future__ import annotations

from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.cases import retransmission_streams
from aerowire.conformance.cases.published import EVEN_LENGTH, FRAME, KIBIBYTE, SILENCE_MS, Published
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, REACTION_MS, Bench
from aerowire.conformance.harness.check import check_equal, intervals_ms
from aerowire.conformance.model import Case, Finding, TimingMiss, case


@case(
    "F01",
    requirement="A NAK brings exactly the frames that it names, unchanged.",
    source="Aeron: RetransmitHandler.onNak; NetworkPublication.resend",
    stimulus="a NAK for three of ten frames that were sent",
    expected="these three frames again, byte for byte, no others; RETRANSMITS_SENT + 1, RETRANSMITTED_BYTES + their length",
    bound="5 ms",
)
def f01(bench: Bench) -> None:
    """Retransmission of exactly what is missing."""
    published = Published(bench)
    before = bench.counts(SystemCounter.RETRANSMITS_SENT, SystemCounter.RETRANSMITTED_BYTES)
    asked_ns = published.nak(4, 3)
    published.expect_resent(4, 3, within_ms=REACTION_MS, since_ns=asked_ns)
    bench.expect_count(SystemCounter.RETRANSMITS_SENT, before[SystemCounter.RETRANSMITS_SENT] + 1)
    bench.expect_count(SystemCounter.RETRANSMITTED_BYTES, before[SystemCounter.RETRANSMITTED_BYTES] + 3 * FRAME)


@case(
    "F02",
    requirement="The same NAK again within the retransmit linger of 10 ms is ignored.",
    source="Aeron: RetransmitHandler.scanForAvailableRetransmit; aeron.retransmit.unicast.linger",
    stimulus="the same NAK twice, back to back",
    expected="one retransmission",
    bound="10 ms",
)
def f02(bench: Bench) -> None:
    """No second retransmission while the first lingers."""
    linger_ms = bench.option_ns("retransmit_unicast_linger_ns") / 1e6
    published = Published(bench)
    heard = bench.count(SystemCounter.NAK_MESSAGES_RECEIVED)
    published.nak(2)
    published.nak(2)
    published.sink.wire.collect(SILENCE_MS, start=published.mark)
    # Both were heard: the silence after the first answer is not deafness.
    bench.expect_count(SystemCounter.NAK_MESSAGES_RECEIVED, heard + 2)
    resent = published.resent()
    if not resent:
        raise Finding("one retransmission", "none")
    gaps = intervals_ms(resent)
    if gaps and min(gaps) < linger_ms - 1:
        raise Finding("one retransmission", f"{len(resent)}, {min(gaps):.1f} ms apart")
    if gaps:
        raise TimingMiss(f"the second NAK handled within {linger_ms:g} ms of the first", f"retransmissions {gaps[0]:.1f} ms apart")
    check_equal("bytes resent", resent[0].payload, published.original[2 * FRAME : 3 * FRAME])


@case(
    "F03",
    requirement="The same NAK after the retransmit linger is answered again.",
    source="Aeron: RetransmitHandler.processTimeouts; aeron.retransmit.unicast.linger",
    stimulus="a NAK, and the same NAK 25 ms later",
    expected="a second retransmission",
    bound="5 ms after the second NAK",
)
def f03(bench: Bench) -> None:
    """A second retransmission after the linger."""
    linger_ms = bench.option_ns("retransmit_unicast_linger_ns") / 1e6
    published = Published(bench)
    published.nak(2)
    published.expect_resent(2, within_ms=CONDUCTOR_MS)
    published.sink.wire.collect(2.5 * linger_ms)
    mark = published.sink.wire.mark()
    asked_ns = published.nak(2)
    published.expect_resent(2, within_ms=REACTION_MS, since_ns=asked_ns, start=mark)


@case(
    "F04",
    requirement="A NAK from within a range that was just sent again is ignored, one from just behind it is answered.",
    source="Aeron: RetransmitHandler.scanForAvailableRetransmit; aeron.retransmit.unicast.linger",
    stimulus="NAKs back to back: for the third to the fifth frame, for the fourth, for the sixth",
    expected="the third to the sixth frame again, each once",
    bound="10 ms",
)
def f04(bench: Bench) -> None:
    """What a lingering retransmission covers."""
    linger_ms = bench.option_ns("retransmit_unicast_linger_ns") / 1e6
    published = Published(bench)
    heard = bench.count(SystemCounter.NAK_MESSAGES_RECEIVED)
    published.nak(2, 3)
    published.nak(3)
    published.nak(5)
    published.check_resent_within(linger_ms, (2, 3, 4, 5))
    bench.expect_count(SystemCounter.NAK_MESSAGES_RECEIVED, heard + 3)


@case(
    "F05",
    requirement="One NAK brings no more than the receiver window times the channel's rrwm.",
    source="Aeron: FlowControl.calculateRetransmissionLength; FlowControl.retransmitReceiverWindowMultiple",
    stimulus="40 frames of 1 KiB on a multi-destination publication with fc=max,rrwm:1 and terms of 64 KiB; a NAK for all of them, "
    "then one for the last eight",
    expected="the first 32 frames again, which are half a term; then the last eight",
)
def f05(bench: Bench) -> None:
    """The longest retransmission."""
    published = Published(bench, bench.publish_on_demand("fc=max,rrwm:1"), lengths=[EVEN_LENGTH] * 40)
    most = published.sink.frames.term_length // 2 // KIBIBYTE
    published.nak(0, 40)
    published.expect_resent(0, most, within_ms=CONDUCTOR_MS)
    mark = published.sink.wire.mark()
    published.nak(most, 40 - most)
    published.expect_resent(most, 40 - most, within_ms=CONDUCTOR_MS, start=mark)


@case(
    "F06",
    requirement="A NAK of length 0 brings nothing.",
    source="Aeron: RetransmitHandler.onNak; NakFlyweight.isValid",
    stimulus="a NAK of no bytes at a frame that was sent, then one of that frame",
    expected="silence for the first, which is counted as received and not as invalid; the frame for the second",
)
def f06(bench: Bench) -> None:
    """A NAK of nothing."""
    published = Published(bench)
    invalid = bench.count(SystemCounter.INVALID_PACKETS)
    heard = bench.count(SystemCounter.NAK_MESSAGES_RECEIVED)
    published.nak_at(published.starts[2], 0)
    bench.expect_count(SystemCounter.NAK_MESSAGES_RECEIVED, heard + 1)
    published.sink.wire.expect_none(frames.is_data, "data for a NAK of length 0", for_ms=SILENCE_MS, start=published.mark)
    mark = published.sink.wire.mark()
    published.nak(2)
    published.expect_resent(2, within_ms=CONDUCTOR_MS, start=mark)
    bench.expect_count(SystemCounter.INVALID_PACKETS, invalid)


@case(
    "F07",
    requirement="A NAK for what was not sent yet brings nothing.",
    source="Aeron: NetworkPublication.resend",
    stimulus="a NAK at the sender's position, then one for a frame below it",
    expected="silence for the first, the frame for the second",
)
def f07(bench: Bench) -> None:
    """No retransmission of the future."""
    published = Published(bench)
    invalid = bench.count(SystemCounter.INVALID_PACKETS)
    heard = bench.count(SystemCounter.NAK_MESSAGES_RECEIVED)
    published.nak_at(published.starts[-1], FRAME)
    bench.expect_count(SystemCounter.NAK_MESSAGES_RECEIVED, heard + 1)
    published.sink.wire.expect_none(frames.is_data, "data for a NAK at the sender's position", for_ms=SILENCE_MS, start=published.mark)
    mark = published.sink.wire.mark()
    published.nak(9)
    published.expect_resent(9, within_ms=CONDUCTOR_MS, start=mark)
    bench.expect_count(SystemCounter.INVALID_PACKETS, invalid)


@case(
    "F08",
    requirement="A NAK that reaches beyond the end of its term is invalid.",
    source="Aeron: NakFlyweight.isValid; SendChannelEndpoint.onNakMessage",
    stimulus="NAKs of a frame's length 32 bytes before the term's end and of more than a term, then one of a frame that was sent",
    expected="INVALID_PACKETS + 1 and silence for each of the first two, the frame for the last",
    since="1.53",
)
def f08(bench: Bench) -> None:
    """A NAK stays within its term."""
    published = Published(bench)
    made = published.sink.frames
    naks = {
        "a NAK across the term's end": made.nak(made.term_length - 32, FRAME),
        "a NAK of more than a term": made.nak(0, made.term_length + 32),
    }
    check_invalid(bench, published, naks)


@case(
    "F09",
    requirement="A NAK for what lies more than half a term and a message of the longest kind behind the sender brings nothing.",
    source="Aeron: NetworkPublication.resend (bottom of the resend window)",
    stimulus="48 frames of 1 KiB in a term of 64 KiB, whose window of repair begins with the ninth; NAKs for the eighth and the ninth",
    expected="silence for the eighth, the ninth again",
)
def f09(bench: Bench) -> None:
    """The bottom of the resend window."""
    published = Published(bench, lengths=[EVEN_LENGTH] * 48)
    term_length = published.sink.frames.term_length
    lowest = 48 - (term_length // 2 + term_length // 8) // KIBIBYTE
    heard = bench.count(SystemCounter.NAK_MESSAGES_RECEIVED)
    published.nak(lowest - 1)
    bench.expect_count(SystemCounter.NAK_MESSAGES_RECEIVED, heard + 1)
    published.sink.wire.expect_none(frames.is_data, "data from below the resend window", for_ms=SILENCE_MS, start=published.mark)
    mark = published.sink.wire.mark()
    published.nak(lowest)
    published.expect_resent(lowest, within_ms=CONDUCTOR_MS, start=mark)


@case(
    "F10",
    requirement="A NAK with an offset between frames, a negative one, one outside the term, or a negative length is invalid.",
    source="Aeron: NakFlyweight.isValid; SendChannelEndpoint.onNakMessage",
    stimulus="NAKs at offset 16, at -32, at the term's length, and of length -32, then one of a frame that was sent",
    expected="INVALID_PACKETS + 1 and silence for each of the first four, the frame for the last",
    since="1.53",
)
def f10(bench: Bench) -> None:
    """NAKs that make no sense."""
    published = Published(bench)
    made = published.sink.frames
    naks = {
        "a NAK between frames": made.nak(16, FRAME),
        "a NAK of a negative offset": made.nak(0, FRAME, term_offset=-32),
        "a NAK outside the term": made.nak(0, 0, term_offset=made.term_length),
        "a NAK of negative length": made.nak(FRAME, -32),
    }
    check_invalid(bench, published, naks)


def check_invalid(bench: Bench, published: Published, naks: dict[str, bytes]) -> None:
    """Check that each of these is counted as invalid and brings nothing, and that a good NAK still is answered."""
    invalid = bench.count(SystemCounter.INVALID_PACKETS)
    for index, (what, nak) in enumerate(naks.items()):
        published.sink.send(nak)
        bench.expect_count(SystemCounter.INVALID_PACKETS, invalid + 1 + index)
        published.sink.wire.expect_none(frames.is_data, f"data for {what}", for_ms=2 * REACTION_MS, start=published.mark)
    mark = published.sink.wire.mark()
    published.nak(3)
    published.expect_resent(3, within_ms=CONDUCTOR_MS, start=mark)
    bench.expect_count(SystemCounter.INVALID_PACKETS, invalid + len(naks))


@case(
    "F11",
    requirement="On unicast a NAK from elsewhere is answered while a retransmission lingers.",
    source="Aeron: RetransmitHandler.scanForAvailableRetransmit",
    stimulus="NAKs back to back: for the third frame, for the sixth",
    expected="the third and the sixth frame again",
    bound="10 ms",
)
def f11(bench: Bench) -> None:
    """A second retransmission while the first lingers."""
    published = Published(bench)
    published.nak(2)
    published.nak(5)
    published.check_resent_within(bench.option_ns("retransmit_unicast_linger_ns") / 1e6, (2, 5))


@case(
    "F13",
    requirement="What is sent again comes in datagrams of whole frames that are no longer than the MTU.",
    source="Aeron: NetworkPublication.resend; TermScanner.scanForAvailability",
    stimulus="24 messages of different lengths, then a NAK for all of them",
    expected="all frames again in order, no frame split, no datagram longer than 1408 bytes",
)
def f13(bench: Bench) -> None:
    """Datagrams of a retransmission."""
    published = Published(bench, lengths=[bench.random.randrange(1, 1300) for _ in range(24)])
    published.nak(0, 24)
    published.expect_resent(0, 24, within_ms=CONDUCTOR_MS)
    for arrival in published.resent():
        check_equal("datagrams longer than the MTU", len(arrival.payload) > published.sink.frames.mtu, False)
        whole = sum(frames.aligned(frame.frame_length - 32) for frame in arrival.frames)
        check_equal("bytes of whole frames in a datagram", whole, len(arrival.payload))


@case(
    "F14",
    requirement="A NAK and its retransmission move the counters of NAKs, of retransmissions and of their bytes, and not the bytes sent.",
    source="Aeron: NetworkPublication.onNak; NetworkPublication.resend; Sender.doSend",
    stimulus="a NAK for three frames of 1056 bytes",
    expected="NAK_MESSAGES_RECEIVED, the stream's SND_NAKS_RECEIVED and RETRANSMITS_SENT + 1, RETRANSMITTED_BYTES + 3168; "
    "BYTES_SENT up by heartbeats alone",
    bound="200 ms",
)
def f14(bench: Bench) -> None:
    """Counters of a retransmission."""
    published = Published(bench)
    expected = {
        SystemCounter.NAK_MESSAGES_RECEIVED: 1,
        SystemCounter.RETRANSMITS_SENT: 1,
        SystemCounter.RETRANSMITTED_BYTES: 3 * FRAME,
        SystemCounter.RETRANSMIT_OVERFLOW: 0,
    }
    before = bench.counts(*expected)
    sent = fresh_bytes(bench)
    check_equal("SND_NAKS_RECEIVED before the NAK", published.sink.counter(CounterType.SND_NAKS_RECEIVED), 0)
    published.nak(4, 3)
    published.expect_resent(4, 3, within_ms=CONDUCTOR_MS)
    for counter, more in expected.items():
        bench.expect_count(counter, before[counter] + more)
    check_equal("SND_NAKS_RECEIVED", published.sink.counter(CounterType.SND_NAKS_RECEIVED), 1)
    what = f"BYTES_SENT without heartbeats at {sent}"
    bench.expect(lambda: fresh_bytes(bench) == sent, what, within_ms=CONDUCTOR_MS, actual=lambda: f"it is at {fresh_bytes(bench)}")


def fresh_bytes(bench: Bench) -> int:
    """Return how many bytes the driver counted as sent, but for heartbeats."""
    return bench.count(SystemCounter.BYTES_SENT) - 32 * bench.count(SystemCounter.HEARTBEATS_SENT)


CASES: tuple[Case, ...] = (
    f01,
    f02,
    f03,
    f04,
    f05,
    f06,
    f07,
    f08,
    f09,
    f10,
    f11,
    retransmission_streams.f12,
    f13,
    f14,
    *retransmission_streams.CASES,
)
