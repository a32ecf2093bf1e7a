"""A stream of the driver that the harness has received, as the cases of retransmission ask for parts of it again."""

from __future__ import annotations

from collections.abc import Sequence

from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import REACTION_MS, Bench, Sink
from aerowire.conformance.harness.check import intervals_ms
from aerowire.conformance.harness.wire import Arrival
from aerowire.conformance.model import Finding, TimingMiss

SILENCE_MS = 10 * REACTION_MS
MESSAGE_LENGTH = 1000
FRAME = frames.aligned(MESSAGE_LENGTH)
COUNT = 10
# A message that makes a frame of 1 KiB: a whole number of them fills a term.
KIBIBYTE = 1024
EVEN_LENGTH = KIBIBYTE - 32
# Enough messages at a time to stay within the window that the status message before them opens.
BATCH = 16


class Published:
    """A connected publication whose messages, one frame each, the harness has received; by default ten of 1000 bytes.

    Invariant: `starts[i]` is the offset in `original` of frame i, and its stream position as long as no term was padded.
    """

    def __init__(self, bench: Bench, sink: Sink | None = None, *, lengths: Sequence[int] = (MESSAGE_LENGTH,) * COUNT) -> None:
        self.sink: Sink = bench.publish() if sink is None else sink
        self.sink.connect()
        self.messages = [bench.random.randbytes(length) for length in lengths]
        self.starts = [0]
        for length in lengths:
            self.starts.append(self.starts[-1] + frames.aligned(length))
        self.original = b""
        for at in range(0, len(lengths), BATCH):
            arrivals = self.sink.publish(self.messages[at : at + BATCH])
            self.original += b"".join(arrival.payload for arrival in arrivals)
            if at + BATCH < len(lengths):
                self.sink.send_status(self.sink.publication.position)
        # One action at a time may be pending; what lingers from nothing cannot.
        self.mark = self.sink.wire.mark()

    def nak(self, index: int, count: int = 1) -> int:
        """Ask for `count` frames from `index`; return when the NAK left."""
        return self.nak_at(self.starts[index], self.starts[index + count] - self.starts[index])

    def nak_at(self, position: int, length: int) -> int:
        """Ask for `length` bytes from `position`; return when the NAK left."""
        return self.sink.send(self.sink.frames.nak(position, length))

    def bytes_of(self, index: int, count: int = 1) -> bytes:
        """Return `count` frames from `index` as they came at first."""
        return self.original[self.starts[index] : self.starts[index + count]]

    def expect_resent(
        self, index: int, count: int = 1, *, within_ms: float, since_ns: int | None = None, start: int | None = None
    ) -> Arrival:
        """Wait until the frames came again, byte for byte, and nothing beside them; return the first datagram."""
        wire = self.sink.wire
        begin = self.mark if start is None else start
        first = wire.expect(frames.is_data, "a retransmission", within_ms=within_ms, start=begin, since_ns=since_ns)
        wire.collect(SILENCE_MS, start=begin)
        resent = b"".join(arrival.payload for arrival in self.resent(begin))
        if resent != self.bytes_of(index, count):
            raise Finding(f"frames {index} to {index + count - 1} again, byte for byte", wire.summary(begin))
        return first

    def resent(self, start: int | None = None) -> list[Arrival]:
        """Return the datagrams of data that came since the stream was published, or since `start`."""
        found = self.sink.wire.arrivals[self.mark if start is None else start :]
        return [arrival for arrival in found if arrival.frames and frames.is_data(arrival.first)]

    def check_resent_within(self, linger_ms: float, indices: Sequence[int]) -> None:
        """Watch, and check that these frames came again in this order and no others; a frame too many may be late handling of its NAK."""
        self.sink.wire.collect(SILENCE_MS, start=self.mark)
        resent = self.resent()
        if b"".join(arrival.payload for arrival in resent) == b"".join(map(self.bytes_of, indices)):
            return
        gaps = intervals_ms(resent)
        if len(resent) > len(indices) and max(gaps) > linger_ms - 1:
            raise TimingMiss(f"all NAKs handled within {linger_ms:g} ms", f"retransmissions {max(gaps):.1f} ms apart")
        raise Finding(f"frames {', '.join(map(str, indices))} again and no others", self.sink.wire.summary(self.mark) or "nothing")
