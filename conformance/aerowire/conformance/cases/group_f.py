"""Group F: retransmission, as a sender does it."""

from __future__ import annotations

from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, REACTION_MS, Bench, Sink
from aerowire.conformance.harness.check import check_equal, intervals_ms
from aerowire.conformance.harness.wire import Arrival
from aerowire.conformance.model import Case, Finding, TimingMiss, case

SILENCE_MS = 10 * REACTION_MS
MESSAGE_LENGTH = 1000
FRAME = frames.aligned(MESSAGE_LENGTH)


class Published:
    """A connected publication whose ten frames the harness has received."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.sink: Sink = bench.publish()
        self.sink.connect()
        self.messages = [bench.random.randbytes(MESSAGE_LENGTH) for _ in range(10)]
        arrivals = self.sink.publish(self.messages)
        self.original = b"".join(arrival.payload for arrival in arrivals)
        # One action at a time may be pending; what lingers from nothing cannot.
        self.mark = self.sink.wire.mark()

    def nak(self, index: int, count: int = 1) -> int:
        """Ask for `count` frames from `index`; return when the NAK left."""
        return self.sink.send(self.sink.frames.nak(index * FRAME, count * FRAME))

    def expect_resent(
        self, index: int, count: int = 1, *, within_ms: float, since_ns: int | None = None, start: int | None = None
    ) -> Arrival:
        """Wait until the frames came again, byte for byte, and nothing beside them; return the first datagram."""
        wire = self.sink.wire
        begin = self.mark if start is None else start
        first = wire.expect(frames.is_data, "a retransmission", within_ms=within_ms, start=begin, since_ns=since_ns)
        wire.collect(SILENCE_MS, start=begin)
        resent = b"".join(arrival.payload for arrival in self.resent(begin))
        if resent != self.original[index * FRAME : (index + count) * FRAME]:
            raise Finding(f"frames {index} to {index + count - 1} again, byte for byte", wire.summary(begin))
        return first

    def resent(self, start: int | None = None) -> list[Arrival]:
        """Return the datagrams of data that came since the stream was published, or since `start`."""
        found = self.sink.wire.arrivals[self.mark if start is None else start :]
        return [arrival for arrival in found if arrival.frames and frames.is_data(arrival.first)]


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
    published.nak(10)
    bench.expect_count(SystemCounter.NAK_MESSAGES_RECEIVED, heard + 1)
    published.sink.wire.expect_none(frames.is_data, "data for a NAK at the sender's position", for_ms=SILENCE_MS, start=published.mark)
    mark = published.sink.wire.mark()
    published.nak(9)
    published.expect_resent(9, within_ms=CONDUCTOR_MS, start=mark)
    bench.expect_count(SystemCounter.INVALID_PACKETS, invalid)


CASES: tuple[Case, ...] = (f01, f02, f03, f07)
