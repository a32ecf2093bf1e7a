"""The harness as the captured sender: plays a stream to subscriptions of the driver, through a bad network.

It behaves as a sender must: it keeps within every receiver's window, answers requests for SETUP and NAKs from the content, and sends
heartbeats at its position when it has nothing else to send. The listeners check the result.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

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
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.harness.bench import CONDUCTOR_MS, GROUP, Bench, Subscription
from aerowire.conformance.harness.wire import Address, Wire
from aerowire.conformance.impairment import Impairment
from aerowire.conformance.model import is_older
from aerowire.conformance.network import Network, Reject, is_no_frame_of_old, rejects
from aerowire.conformance.replay_listener import Listener
from aerowire.conformance.replay_outcome import TWO_LAYERS_SINCE, Progress, StreamOutcome
from aerowire.conformance.rules import Endpoint, KnownStream
from aerowire.conformance.streams import CapturedStream, is_end_of_stream, next_position

SETUP_PERIOD_NS = 100_000_000
HEARTBEAT_PERIOD_NS = 100_000_000
# No new frame delivered for this long, with everything sent and heartbeats going out: the stream is stuck.
STALL_NS = 5_000_000_000
# Datagrams sent between two looks at what the driver says and delivers.
BURST = 8
# A late retransmission may still be needed by this many NAKs' ranges; a sender answers one at a time anyway.
PENDING_MAX = 64
SUBSCRIPTIONS_OF_A_GROUP = 2


class Leg:
    """One destination of the stream: where it is, the network there and back, and what its receivers allow."""

    def __init__(self, address: Address, ear: Wire, impairment: Impairment, name: str) -> None:
        self.address = address
        # Where the receivers' answers come in.
        self.ear = ear
        self.there = Network(impairment, f"{name}:there")
        self.back = Network(impairment, f"{name}:back")
        # How far a sender may send; negative before the first status message.
        self.limit = -1
        # Positions of the frames that reached the driver whole.
        self.whole: set[int] = set()
        self.listeners: list[Listener] = []


class SenderReplay:
    """One stream's replay: sender, network and subscribers in one loop."""

    def __init__(
        self,
        bench: Bench,
        stream: CapturedStream,
        outcome: StreamOutcome,
        *,
        impairment: Impairment,
        sources: Sequence[Address] = (),
        is_cut: bool = False,
        is_paced: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self._bench = bench
        self._stream = stream
        self._impairment = impairment
        self._is_paced = is_paced
        self._progress = progress
        end = stream.contiguous_end()
        # A capture cut short lacks repairs of its last losses; a whole one that lacks them was never repaired.
        is_reliable = is_cut or end == stream.content_end()
        self._end = end if is_reliable else stream.content_end()
        self.outcome = outcome
        outcome.is_reliable = is_reliable
        self._expected = [at for at in sorted(stream.content) if at < self._end and self._is_data(at)]
        self._sent = deque(item for item in stream.sent if item.type != FrameType.SETUP and item.end <= self._end)
        self._resend: deque[tuple[int, int]] = deque(maxlen=PENDING_MAX)
        self._position = stream.start
        self._wire = bench.wire(stream.host)
        self._known = KnownStream(stream.session_id, stream.stream_id, stream.initial_term_id, stream.term_length)
        self._is_old = is_older(bench.peer.release, TWO_LAYERS_SINCE)
        self._legs = self._make_legs(sources)
        self._listeners = [listener for leg in self._legs for listener in leg.listeners]
        outcome.receivers = len(self._listeners)
        outcome.frames_expected = len(self._expected) * outcome.receivers
        self._invalid_before = bench.count(SystemCounter.INVALID_PACKETS)

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
                for leg in self._legs:
                    if leg.limit < 0:
                        self._emit(leg, self._stream.setup)
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
                self._legs[0].ear.wait(now + 500_000)
                moved = now if self._is_early(captured_ns) else moved
            if self._limit >= 0 and now - last_sent >= HEARTBEAT_PERIOD_NS:
                self._emit_to_all(self._heartbeat())
                last_sent = now
            self._flush()
            if now - moved > STALL_NS:
                self.outcome.finding = self._stuck()
            if self._progress is not None and self.outcome.frames_delivered - shown >= 500:
                shown = self.outcome.frames_delivered
                self._progress(f"{shown} of {self.outcome.frames_expected} frames delivered")
        self.outcome.duration_s = (time.monotonic_ns() - started) / 1e9
        self.outcome.content_sha256 = self._listeners[0].content_sha256
        self.outcome.datagrams_dropped = sum(leg.there.lost + leg.back.lost for leg in self._legs)
        if not self.outcome.finding:
            self._check_invalid()
            self._finish()

    # -- receivers --------------------------------------------------------------------------------------------------

    def _make_legs(self, sources: Sequence[Address]) -> list[Leg]:
        """Subscribe as the captured receivers did: to a group, at several places at once, or once for each destination."""
        stream = self._stream
        if stream.is_multicast:
            return self._join_group()
        host, stream_id = self._wire.host, stream.stream_id
        if stream.destination in sources and len(sources) > 1:
            places = self._bench.subscribe_to_many(len(sources), self._params, host=host, stream_id=stream_id)
            return [self._make_leg(0, places[sources.index(stream.destination)])]
        return [
            self._make_leg(number, self._bench.subscribe(self._params, host=host, stream_id=stream_id))
            for number in range(len(stream.destinations))
        ]

    def _make_leg(self, number: int, subscription: Subscription) -> Leg:
        leg = Leg(subscription.address, self._wire, self._impairment, self._name(number))
        leg.listeners.append(self._listen(leg, subscription))
        return leg

    def _join_group(self) -> list[Leg]:
        stream_id = self._stream.stream_id
        first, control = self._bench.subscribe_group(GROUP, self._params, stream_id=stream_id)
        leg = Leg(first.address, control, self._impairment, self._name(0))
        leg.listeners.append(self._listen(leg, first))
        for _ in range(SUBSCRIPTIONS_OF_A_GROUP - 1):
            registration_id = self._bench.client.add_subscription(first.channel, stream_id)
            leg.listeners.append(self._listen(leg, Subscription(registration_id, *first.address, stream_id, first.channel)))
        return [leg]

    def _listen(self, leg: Leg, subscription: Subscription) -> Listener:
        return Listener(
            self._bench.client, subscription, self._stream, self.outcome, expected=self._expected, end=self._end, whole=leg.whole
        )

    @property
    def _params(self) -> str:
        return "" if self.outcome.is_reliable else "reliable=false"

    def _name(self, number: int) -> str:
        return f"{self._stream.session_id}:{self._stream.stream_id}:{number}"

    def _deliver(self) -> bool:
        delivered = [listener.deliver() for listener in self._listeners]
        return any(delivered)

    def _is_done(self) -> bool:
        if self._sent and not self.outcome.is_reliable:
            # What is left can only repair or repeat; at the stream's end the driver may give the image up meanwhile.
            return all(listener.is_at_end and listener.is_unavailable for listener in self._listeners)
        return all(listener.is_complete for listener in self._listeners)

    def _stuck(self) -> str:
        positions = [listener.position for listener in self._listeners]
        if None in positions:
            return f"no image within {STALL_NS / 1e9:g} s of SETUPs"
        at = min(position for position in positions if position is not None)
        return f"delivery stopped at position {at} of {self._end} for {STALL_NS / 1e9:g} s; NAKs seen: {self.outcome.naks}"

    def _check_invalid(self) -> None:
        """Compare the driver's count of invalid packets with the damaged datagrams that it got."""
        outcome, bench = self.outcome, self._bench
        if self._is_old:
            return
        due = self._invalid_before + outcome.datagrams_damaged
        bench.wait_until(lambda: bench.count(SystemCounter.INVALID_PACKETS) >= due, CONDUCTOR_MS)
        outcome.invalid_counted = bench.count(SystemCounter.INVALID_PACKETS) - self._invalid_before
        if outcome.invalid_counted != outcome.datagrams_damaged:
            outcome.finding = (
                f"{outcome.datagrams_damaged} damaged datagrams were sent, INVALID_PACKETS went up by {outcome.invalid_counted}"
            )

    # -- sender -----------------------------------------------------------------------------------------------------

    @property
    def _limit(self) -> int:
        return min(leg.limit for leg in self._legs)

    def _on_arrivals(self) -> None:
        now = time.monotonic_ns()
        by_source = {leg.address: leg for leg in self._legs}
        for ear in {leg.ear for leg in self._legs}:
            ear.read()
            for arrival in ear.arrivals:
                leg = by_source.get(arrival.source, self._legs[0])
                leg.back.put(arrival.payload, now, lambda _: True)
            ear.arrivals.clear()
        for leg in self._legs:
            for passage in leg.back.take(now):
                # A damaged one is for the harness to throw away.
                if not passage.is_damaged:
                    self._on_datagram(leg, passage.payload)

    def _on_datagram(self, leg: Leg, payload: bytes) -> None:
        if len(payload) < FrameHeaderDecoder.ENCODED_LENGTH:
            return
        kind = FrameHeaderDecoder(payload).type
        if kind == FrameType.SM and len(payload) >= StatusMessageDecoder.ENCODED_LENGTH:
            message = StatusMessageDecoder(payload)
            if message.session_id != self._stream.session_id:
                return
            if message.flags & SmFlags.SEND_SETUP:
                self._emit(leg, self._stream.setup)
            else:
                at = self._stream.position(message.consumption_term_id, message.consumption_term_offset)
                leg.limit = max(leg.limit, at + message.receiver_window)
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
            self._emit_to_all(item.payload)
            self._position = max(self._position, item.end)
            count += 1
        if not self._sent:
            self._position = max(self._position, min(self._end, self._limit))
        return count > 0

    def _is_delivered(self) -> bool:
        return all((listener.position or 0) >= self._position for listener in self._listeners)

    def _answer(self, position: int, length: int) -> None:
        """Resend the frames of a NAK's range, in datagrams up to the MTU."""
        at, batch = position, b""
        while at < min(position + length, self._end) and at in self._stream.content:
            frame = self._stream.content[at]
            is_pad = DataHeaderDecoder(frame).type == FrameType.PAD
            if batch and len(batch) + len(frame) > self._stream.mtu:
                self._emit_to_all(batch)
                batch = b""
            batch += frame
            at = next_position(at, frame)
            self.outcome.frames_resent += 1
            if is_pad:
                break
        if batch:
            self._emit_to_all(batch)

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

    def _emit_to_all(self, payload: bytes) -> None:
        for leg in self._legs:
            self._emit(leg, payload)

    def _emit(self, leg: Leg, payload: bytes) -> None:
        """Put a datagram into the network to a destination."""
        now = time.monotonic_ns()
        is_whole = leg.there.put(payload, now, self._reject(leg))
        # Where the network changes the order, a gap may be given up before what fills it comes.
        if is_whole and not self._impairment.is_reordering and FrameHeaderDecoder(payload).type != FrameType.SETUP:
            leg.whole.update(frame.position for frame in self._stream.walk(payload))
        self._flush()

    def _flush(self) -> None:
        now = time.monotonic_ns()
        for leg in self._legs:
            for payload, is_damaged in leg.there.take(now):
                self._put(leg, payload)
                self.outcome.datagrams_damaged += is_damaged

    def _put(self, leg: Leg, payload: bytes) -> None:
        self._wire.send(payload, leg.address)
        self.outcome.datagrams_sent += 1

    def _reject(self, leg: Leg) -> Reject:
        if self._is_old:
            return is_no_frame_of_old
        # The image is looked into from the first status message until the driver may let it go.
        is_live = leg.limit >= 0 and not any(listener.is_at_end for listener in leg.listeners)
        return rejects(Endpoint.RECEIVE, self._known if is_live else None)

    def _finish(self) -> None:
        """Play the captured end of the stream, so that the driver does not wait for more."""
        for item in self._sent:
            if item.position == item.end and is_end_of_stream(item.flags):
                for leg in self._legs:
                    self._put(leg, item.payload)
                return

    def _is_data(self, position: int) -> bool:
        return DataHeaderDecoder(self._stream.content[position]).type == FrameType.DATA
