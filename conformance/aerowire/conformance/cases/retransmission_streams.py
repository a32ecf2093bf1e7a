"""Group F, second part: delays and groups, padding, strange sessions, and what a rotation leaves behind."""

from __future__ import annotations

import time

from aerowire.codecs.flyweights.transport import FrameType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.cases.options import SLOW_RESEND
from aerowire.conformance.cases.published import EVEN_LENGTH, FRAME, KIBIBYTE, MESSAGE_LENGTH, SILENCE_MS, Published
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, TERM_LENGTH, TIMER_TOLERANCE_MS, Bench
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.model import Case, Finding, case


@case(
    "F12",
    requirement="A group's sender keeps as many retransmissions in mind as max-resend says; a NAK beyond them is counted and left alone.",
    source="Aeron: RetransmitHandler.scanForAvailableRetransmit; aeron.max.resend",
    stimulus="NAKs for 17 frames of a multi-destination publication, whose retransmissions keep their places for 2 s",
    expected="the first 16 frames again, the 17th not; RETRANSMIT_OVERFLOW + 1",
    bound="200 ms",
    options=SLOW_RESEND,
)
def f12(bench: Bench) -> None:
    """Retransmissions of a group at the same time."""
    most = bench.option_int("max_resend")
    overflow = bench.count(SystemCounter.RETRANSMIT_OVERFLOW)
    published = Published(bench, bench.publish_on_demand(), lengths=[MESSAGE_LENGTH] * (most + 1))
    for index in range(most + 1):
        published.nak(index)
    published.expect_resent(0, most, within_ms=CONDUCTOR_MS)
    bench.expect_count(SystemCounter.RETRANSMIT_OVERFLOW, overflow + 1)


@case(
    "F15",
    requirement="With a retransmit delay the frames come again when it has passed, and no sooner.",
    source="Aeron: RetransmitHandler.onNak; RetransmitHandler.processTimeouts; aeron.retransmit.unicast.delay",
    stimulus="a NAK for two frames, to a driver with a retransmit delay of 20 ms",
    expected="the frames again, 20 ms after the NAK",
    bound="20 ms + 20 ms",
    options=SLOW_RESEND,
)
def f15(bench: Bench) -> None:
    """The delay of a retransmission."""
    delay_ms = bench.option_ns("retransmit_unicast_delay_ns") / 1e6
    published = Published(bench)
    before_ns = time.monotonic_ns()
    asked_ns = published.nak(2, 2)
    first = published.expect_resent(2, 2, within_ms=delay_ms + TIMER_TOLERANCE_MS, since_ns=asked_ns)
    after_ms = (first.time_ns - before_ns) / 1e6
    if after_ms < delay_ms:
        raise Finding(f"frames again {delay_ms:g} ms after the NAK or later", f"after {after_ms:.1f} ms")


@case(
    "F16",
    requirement="Padding is sent again as it was at first: its header alone, with the whole length.",
    source="Aeron: NetworkPublication.resend; TermScanner.scanForAvailability (padding)",
    stimulus="a message that does not fit into the 1120 bytes that are left of its term; a NAK for the padding before it",
    expected="one datagram of 32 bytes, a PAD frame of 1120; RETRANSMITTED_BYTES + 1120",
    bound="200 ms",
)
def f16(bench: Bench) -> None:
    """Retransmission of padding."""
    full = TERM_LENGTH // FRAME - 1
    left = TERM_LENGTH - full * FRAME
    published = Published(bench, lengths=[MESSAGE_LENGTH] * full + [left])
    wire = published.sink.wire
    # At first the header may have come in one datagram with the frame before it.
    headers = [one.payload[-32:] for one in wire.arrivals if one.frames and int(one.frames[-1].type) == FrameType.PAD]
    check_equal("PAD frames at the end of the term", len(headers), 1)
    before = bench.count(SystemCounter.RETRANSMITTED_BYTES)
    published.nak_at(full * FRAME, left)
    again = wire.expect(frames.is_data, "a retransmission", within_ms=CONDUCTOR_MS, start=published.mark)
    check_equal("type of the frame", int(again.first.type), int(FrameType.PAD))
    check_equal("length of the datagram", len(again.payload), 32)
    check_equal("frame_length", again.first.frame_length, left)
    check_equal("the padding sent again", again.payload, headers[0])
    bench.expect_count(SystemCounter.RETRANSMITTED_BYTES, before + left)
    wire.collect(SILENCE_MS)
    check_equal("datagrams for one NAK", len(published.resent()), 1)


@case(
    "F17",
    requirement="A NAK of a session that the driver does not send is ignored, and is no invalid packet.",
    source="Aeron: SendChannelEndpoint.onNakMessage",
    stimulus="a NAK of another session to the endpoint of a publication, then one of its own",
    expected="silence and unchanged INVALID_PACKETS for the first, the frame for the second",
)
def f17(bench: Bench) -> None:
    """A NAK of another session."""
    published = Published(bench)
    sink = published.sink
    before = bench.counts(SystemCounter.INVALID_PACKETS, SystemCounter.ERRORS, SystemCounter.RETRANSMITS_SENT)
    own = sink.frames.session_id
    sink.frames.session_id = own ^ 1
    published.nak(2)
    sink.frames.session_id = own
    sink.wire.expect_none(frames.is_data, "data for a NAK of another session", for_ms=SILENCE_MS, start=published.mark)
    bench.expect_counts_unchanged(before)
    mark = sink.wire.mark()
    published.nak(2)
    published.expect_resent(2, within_ms=CONDUCTOR_MS, start=mark)
    del before[SystemCounter.RETRANSMITS_SENT]
    bench.expect_counts_unchanged(before)


@case(
    "F18",
    requirement="What one receiver of a multi-destination publication asks for is sent again to every destination.",
    source="Aeron: NetworkPublication.resend; SendChannelEndpoint.send (multi-destination)",
    stimulus="two receivers of a publication with control-mode=dynamic; a NAK of one of them",
    expected="the frame again, byte for byte, at both",
    bound="200 ms",
)
def f18(bench: Bench) -> None:
    """Retransmission to all destinations."""
    sink = bench.publish_on_demand()
    other = bench.wire()
    other.send(sink.frames.elicit(sink.receiver_id + 1), sink.driver)
    other.expect(frames.is_setup, "a SETUP at the other receiver", within_ms=CONDUCTOR_MS)
    published = Published(bench, sink)
    last = sink.frames.term(published.starts[-2])
    other.expect(
        lambda frame: frames.is_data(frame) and (frame.term_id, frame.term_offset) == last,
        "the last frame at the other receiver",
        within_ms=CONDUCTOR_MS,
    )
    mark = other.mark()
    published.nak(4)
    published.expect_resent(4, within_ms=CONDUCTOR_MS)
    other.expect(frames.is_data, "a retransmission at the other receiver", within_ms=CONDUCTOR_MS, start=mark)
    again = [arrival.payload for arrival in other.arrivals[mark:] if arrival.frames and frames.is_data(arrival.first)]
    check_equal("the frame again at the other receiver, and nothing else", again == [published.bytes_of(4)], True)


@case(
    "F19",
    requirement="Just behind the rotation of terms the end of the old term can still be repaired, unchanged.",
    source="Aeron: NetworkPublication.resend; NetworkPublication.cleanBufferTo",
    stimulus="66 frames of 1 KiB in terms of 64 KiB; NAKs for the last 30 of the first term and for both of the second",
    expected="all of them again, byte for byte",
)
def f19(bench: Bench) -> None:
    """Repair across a rotation."""
    in_term = TERM_LENGTH // KIBIBYTE
    published = Published(bench, lengths=[EVEN_LENGTH] * (in_term + 2))
    published.nak(in_term - 30, 30)
    published.expect_resent(in_term - 30, 30, within_ms=CONDUCTOR_MS)
    mark = published.sink.wire.mark()
    published.nak(in_term, 2)
    published.expect_resent(in_term, 2, within_ms=CONDUCTOR_MS, start=mark)


CASES: tuple[Case, ...] = (f15, f16, f17, f18, f19)
