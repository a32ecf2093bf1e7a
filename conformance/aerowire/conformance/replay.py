"""Plays the sender's side of captured streams to a live driver and compares what its subscriber gets.

The oracle is the stream's content: every frame of the capture, delivered once, in order and unchanged, whatever
the impairment. The harness behaves as a sender must: it keeps within the receiver's window, answers requests for
SETUP and NAKs from the content, and sends heartbeats at its position when it has nothing else to send.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections import deque
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from aerowire.codecs.flyweights.transport import (
    DataFlags,
    DataHeaderDecoder,
    DataHeaderEncoder,
    FrameHeaderDecoder,
    FrameType,
    NakDecoder,
    SmFlags,
    StatusMessageDecoder,
)
from aerowire.conformance.errors import ConformanceError
from aerowire.conformance.harness.bench import Bench
from aerowire.conformance.harness.capture import read_datagrams
from aerowire.conformance.harness.client import Image
from aerowire.conformance.harness.log import HEADER_LENGTH, Fragment
from aerowire.conformance.model import Deviation, NotSent
from aerowire.conformance.peers.base import Peer
from aerowire.conformance.replay_outcome import Impairment, ReplayOutcome, StreamOutcome
from aerowire.conformance.streams import CapturedStream, find_streams, is_end_of_stream, next_position

SETUP_PERIOD_NS = 100_000_000
HEARTBEAT_PERIOD_NS = 100_000_000
# No new frame delivered for this long, with everything sent and heartbeats going out: the stream is stuck.
STALL_NS = 5_000_000_000
# Datagrams sent between two looks at what the driver says and delivers.
BURST = 8
# A late retransmission may still be needed by this many NAKs' ranges; a sender answers one at a time anyway.
PENDING_MAX = 64


class ReplayError(ConformanceError):
    """The capture holds nothing that can be replayed."""


def replay_file(
    peer: Peer,
    path: Path,
    *,
    impairment: Impairment | None = None,
    limit: int | None = None,
    is_paced: bool = False,
    progress: Callable[[str], None] | None = None,
) -> ReplayOutcome:
    """Replay every stream of a capture, one after the other, to a peer that has been started.

    Raises ReplayError when the capture holds no stream with its SETUP, CaptureError when it cannot be read.
    """
    datagrams = list(islice(read_datagrams(path), limit))
    streams, skipped = find_streams(datagrams)
    if not streams:
        raise ReplayError(f"{path}: no stream with a SETUP and data among {len(datagrams)} UDP datagrams")
    outcome = ReplayOutcome(path.name, len(datagrams), skipped, impairment or Impairment())
    for number, stream in enumerate(streams):
        played = StreamOutcome(stream.session_id, stream.stream_id)
        outcome.streams.append(played)
        try:
            with Bench(peer, f"replay:{outcome.impairment.seed}:{number}") as bench:
                is_cut = limit is not None
                replay = StreamReplay(
                    bench, stream, played, impairment=outcome.impairment, is_cut=is_cut, is_paced=is_paced, progress=progress
                )
                replay.run()
        except NotSent as deviation:
            played.inconclusive = str(deviation)
        except Deviation as deviation:
            played.finding = str(deviation)
    if progress is not None:
        progress("")
    return outcome


class StreamReplay:
    """One stream's replay: sender, network and subscriber in one loop."""

    def __init__(
        self,
        bench: Bench,
        stream: CapturedStream,
        outcome: StreamOutcome,
        *,
        impairment: Impairment,
        is_cut: bool = False,
        is_paced: bool = False,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self._bench = bench
        self._stream = stream
        self._impairment = impairment
        self._random = random.Random(f"{impairment.seed}:{stream.session_id}:{stream.stream_id}")
        self._is_paced = is_paced
        self._progress = progress
        end = stream.contiguous_end()
        # A capture cut short lacks repairs of its last losses; a whole one that lacks them was never repaired.
        is_reliable = is_cut or end == stream.content_end()
        self._end = end if is_reliable else stream.content_end()
        self.outcome = outcome
        outcome.is_reliable = is_reliable
        self._expected = [at for at in sorted(stream.content) if at < self._end and self._is_data(at)]
        self.outcome.frames_expected = len(self._expected)
        self._sent = deque(item for item in stream.sent if item.type != FrameType.SETUP and item.end <= self._end)
        self._offered: set[int] = set()
        self._resend: deque[tuple[int, int]] = deque(maxlen=PENDING_MAX)
        self._held: bytes | None = None
        self._image: Image | None = None
        self._limit = -1
        self._position = stream.start
        self._next_expected = 0
        self._digest = hashlib.sha256()
        self._wire = bench.wire("::1" if ":" in stream.destination[0] else "127.0.0.1")
        params = "" if is_reliable else "reliable=false"
        self._subscription = bench.subscribe(params, host=self._wire.host, stream_id=stream.stream_id)

    def run(self) -> None:
        """Replay until everything was delivered, something was wrong, or nothing moves any more."""
        started = time.monotonic_ns()
        moved = last_sent = started
        last_setup = 0
        first_captured = self._sent[0].time_ns if self._sent else 0
        shown = 0
        while not self.outcome.finding and not self._is_done():
            now = time.monotonic_ns()
            if self._limit < 0 and now - last_setup >= SETUP_PERIOD_NS:
                self._emit(self._stream.setup)
                last_setup = now
            self._on_arrivals()
            if self._deliver():
                moved = now
            captured_ns = first_captured + now - started
            if self._resend:
                # A repair moves nothing until it is delivered: a driver that asks for ever is stuck too.
                self._answer(*self._resend.popleft())
            elif self._send_some(captured_ns):
                last_sent = moved = now
            else:
                self._wire.wait(now + 500_000)
                moved = now if self._is_early(captured_ns) else moved
            if self._limit >= 0 and now - last_sent >= HEARTBEAT_PERIOD_NS:
                self._emit(self._heartbeat())
                last_sent = now
            if now - moved > STALL_NS:
                self.outcome.finding = self._stuck()
            if self._progress is not None and self.outcome.frames_delivered - shown >= 500:
                shown = self.outcome.frames_delivered
                self._progress(f"{shown} of {len(self._expected)} frames delivered")
        self.outcome.duration_s = (time.monotonic_ns() - started) / 1e9
        self.outcome.content_sha256 = self._digest.hexdigest()
        if not self.outcome.finding:
            self._finish()

    # -- subscriber -------------------------------------------------------------------------------------------------

    def _deliver(self) -> bool:
        images = self._bench.client.images_of(self._subscription.registration_id)
        if self._image is None:
            if not images:
                return False
            self._image = images[0]
            if self._image.join_position != self._stream.start:
                self.outcome.finding = f"the image joins at {self._image.join_position}, the SETUP said {self._stream.start}"
                return False
        is_unavailable = self._is_unavailable()
        # What the log holds is delivered, whatever became of the image since.
        fragments = self._image.consume()
        for fragment in fragments:
            self._compare(fragment)
        if is_unavailable and not self._is_done() and not self.outcome.finding:
            self.outcome.finding = f"the image became unavailable at position {self._image.poller.position} of {self._end}"
        return bool(fragments)

    def _compare(self, fragment: Fragment) -> None:
        outcome = self.outcome
        if outcome.finding:
            return
        while not outcome.is_reliable and self._next_expected < len(self._expected):
            skipped = self._expected[self._next_expected]
            # Without repair, what never reached the driver in time may be missing, and only that.
            if skipped >= fragment.position or (skipped in self._offered and not self._impairment.reorder):
                break
            self._next_expected += 1
        expected = self._expected[self._next_expected] if self._next_expected < len(self._expected) else None
        if fragment.position != expected:
            outcome.finding = f"a frame at position {fragment.position} was delivered where {expected} was due"
            return
        frame = self._stream.content[fragment.position]
        header = DataHeaderDecoder(frame)
        payload = frame[HEADER_LENGTH : header.frame_length]
        wanted = (header.flags, header.session_id, header.stream_id, header.term_id, header.reserved_value)
        got = (fragment.flags, fragment.session_id, fragment.stream_id, fragment.term_id, fragment.reserved_value)
        if got != wanted or fragment.payload != payload:
            outcome.finding = f"the frame at position {fragment.position} was delivered changed: header {got}, captured {wanted}"
            return
        self._next_expected += 1
        self._digest.update(payload)
        outcome.frames_delivered += 1
        outcome.bytes_delivered += len(payload)
        outcome.messages_delivered += bool(fragment.flags & DataFlags.END)

    def _is_done(self) -> bool:
        is_at_end = self._image is not None and self._image.poller.position >= self._end
        if self._sent and not self.outcome.is_reliable:
            # What is left can only repair or repeat; at the stream's end the driver may give the image up meanwhile.
            return is_at_end and self._is_unavailable()
        return is_at_end or self._next_expected == len(self._expected)

    def _is_unavailable(self) -> bool:
        return self._image is not None and self._image.correlation_id in self._bench.client.unavailable

    def _stuck(self) -> str:
        if self._image is None:
            return f"no image within {STALL_NS / 1e9:g} s of SETUPs"
        at = self._image.poller.position
        return f"delivery stopped at position {at} of {self._end} for {STALL_NS / 1e9:g} s; NAKs seen: {self.outcome.naks}"

    # -- sender -----------------------------------------------------------------------------------------------------

    def _on_arrivals(self) -> None:
        self._wire.read()
        for arrival in self._wire.arrivals:
            self._on_datagram(arrival.payload)
        self._wire.arrivals.clear()

    def _on_datagram(self, payload: bytes) -> None:
        if len(payload) < FrameHeaderDecoder.ENCODED_LENGTH:
            return
        kind = FrameHeaderDecoder(payload).type
        if kind == FrameType.SM and len(payload) >= StatusMessageDecoder.ENCODED_LENGTH:
            message = StatusMessageDecoder(payload)
            if message.flags & SmFlags.SEND_SETUP:
                self._emit(self._stream.setup)
            else:
                at = self._stream.position(message.consumption_term_id, message.consumption_term_offset)
                self._limit = max(self._limit, at + message.receiver_window)
        elif kind == FrameType.NAK and len(payload) >= NakDecoder.ENCODED_LENGTH:
            nak = NakDecoder(payload)
            at = self._stream.position(nak.term_id, nak.term_offset)
            self.outcome.naks += 1
            if not self.outcome.is_reliable:
                self.outcome.finding = f"a NAK for position {at} from a subscription with reliable=false"
            elif (at, nak.length) not in self._resend:
                self._resend.append((at, nak.length))

    def _is_early(self, captured_ns: int) -> bool:
        """Say whether the next datagram's time has not come yet."""
        return self._is_paced and bool(self._sent) and self._sent[0].time_ns > captured_ns

    def _send_some(self, captured_ns: int) -> bool:
        count = 0
        while self._sent and count < BURST:
            item = self._sent[0]
            # A revocation ends the image at once, so it waits for what was sent before it.
            is_premature = bool(item.flags & DataFlags.REVOKED) and item.position == item.end and not self._is_delivered()
            if item.end > self._limit or self._is_early(captured_ns) or is_premature:
                break
            self._sent.popleft()
            if self._emit(item.payload):
                self._offered.update(frame.position for frame in self._stream.walk(item.payload))
            self._position = max(self._position, item.end)
            count += 1
        if not self._sent:
            self._position = max(self._position, min(self._end, self._limit))
        return count > 0

    def _is_delivered(self) -> bool:
        return self._image is not None and self._image.poller.position >= self._position

    def _answer(self, position: int, length: int) -> None:
        """Resend the frames of a NAK's range, in datagrams up to the MTU."""
        at, batch = position, b""
        while at < min(position + length, self._end) and at in self._stream.content:
            frame = self._stream.content[at]
            is_pad = DataHeaderDecoder(frame).type == FrameType.PAD
            if batch and len(batch) + len(frame) > self._stream.mtu:
                self._emit(batch)
                batch = b""
            batch += frame
            at = next_position(at, frame)
            self.outcome.frames_resent += 1
            if is_pad:
                break
        if batch:
            self._emit(batch)

    def _heartbeat(self) -> bytes:
        term_id, term_offset = self._stream.locate(self._position)
        return DataHeaderEncoder.encode(
            frame_length=0,
            type=FrameType.DATA,
            flags=DataFlags.UNFRAGMENTED,
            term_offset=term_offset,
            session_id=self._stream.session_id,
            stream_id=self._stream.stream_id,
            term_id=term_id,
        )

    def _emit(self, payload: bytes) -> bool:
        """Put a datagram through the impairment; return whether the driver got it (now or soon)."""
        chance = self._random.random()
        impairment = self._impairment
        if chance < impairment.loss:
            self.outcome.datagrams_dropped += 1
            return False
        chance -= impairment.loss
        if chance < impairment.reorder and self._held is None:
            self._held = payload
            return True
        self._put(payload)
        if impairment.reorder <= chance < impairment.reorder + impairment.duplicate:
            self._put(payload)
        if self._held is not None:
            held, self._held = self._held, None
            self._put(held)
        return True

    def _put(self, payload: bytes) -> None:
        self._wire.send(payload, self._subscription.address)
        self.outcome.datagrams_sent += 1

    def _finish(self) -> None:
        """Play the captured end of the stream, so that the driver does not wait for more."""
        for item in self._sent:
            if item.position == item.end and is_end_of_stream(item.flags):
                self._put(item.payload)
                return

    def _is_data(self, position: int) -> bool:
        return DataHeaderDecoder(self._stream.content[position]).type == FrameType.DATA
