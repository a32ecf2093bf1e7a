"""The harness as the captured receiver: the driver publishes the captured messages, and a bad network lies between.

The harness answers with status messages within its window and asks with NAKs for what the network took. It must end with the very
messages; and whatever the network does, the driver must keep within the windows it was told of and repeat nothing that nobody asked for.
"""

from __future__ import annotations

import ipaddress
import time
from collections import deque

from aerowire.codecs.flyweights.transport import DataHeaderDecoder, FrameHeaderDecoder, FrameType, SetupDecoder
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.harness.bench import CONDUCTOR_MS, GROUP, LOOPBACK, Bench, Sink
from aerowire.conformance.harness.log import HEADER_LENGTH
from aerowire.conformance.harness.wire import Wire
from aerowire.conformance.impairment import Impairment
from aerowire.conformance.model import is_older
from aerowire.conformance.network import Network, Reject, is_no_frame_of_old, rejects
from aerowire.conformance.replay_outcome import TWO_LAYERS_SINCE, Progress, StreamOutcome
from aerowire.conformance.rules import Endpoint, KnownStream, end_in_window
from aerowire.conformance.streams import CapturedStream, Frame, join_messages, next_position, walk_frames

STATUS_PERIOD_NS = 100_000_000
# A sender that has just resent may ignore a NAK for a while; the next one after that is heard.
NAK_PERIOD_NS = 20_000_000
# Nobody has got on for this long: the stream is stuck.
STALL_NS = 5_000_000_000
RECEIVERS_OF_A_GROUP = 2
# A sender with several receivers holds its limit for so long when one asks for a SETUP late, as one does whose question was overtaken.
RECEIVER_TIMEOUT_MS = 1_000
# A receiver says anew how far it has come when a quarter of its window is used up.
WINDOW_SHARE = 4


class Conversation:
    """What all receivers of one publication have told its sender, and what it has sent to them.

    Invariant: `limit` is the most that any window allowed, `asked` every range of a NAK.
    """

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.frames = sink.frames
        self.limit = sink.publication.start_position
        self.asked: list[tuple[int, int]] = []


class PlayedReceiver:
    """One receiver: what it has, what it lacks, and the network to and from the driver."""

    def __init__(
        self, talk: Conversation, wire: Wire, outcome: StreamOutcome, impairment: Impairment, name: str, *, is_asking: bool, is_old: bool
    ) -> None:
        sink = talk.sink
        self._talk = talk
        self._wire = wire
        self._outcome = outcome
        self._id = sink.receiver_id if wire is sink.wire else sink.receiver_id + 1
        self._here = Network(impairment, f"{name}:here")
        self._back = Network(impairment, f"{name}:back")
        self._is_old = is_old
        frames = talk.frames
        self._known = KnownStream(frames.session_id, frames.stream_id, frames.initial_term_id, frames.term_length)
        self._window = frames.term_length // 2
        self._start = sink.publication.start_position
        self._has_setup = False
        self._content: dict[int, bytes] = {}
        # What the driver has sent here by positions, whatever the network made of it.
        self._sent: dict[int, bytes] = {}
        self._high = self._start
        self._status_position = -1
        self._nak_ns = 0
        # A sender with many destinations waits to be asked for the SETUP; others speak first.
        self._status_ns = 0 if is_asking else time.monotonic_ns()
        self.position = self._start

    @property
    def lost(self) -> int:
        """Datagrams lost on the way, in either direction."""
        return self._here.lost + self._back.lost

    def work(self, now_ns: int) -> bool:
        """Take what came, answer what is due; return whether the stream got on."""
        before = self.position
        self._wire.read()
        for arrival in self._wire.arrivals:
            self._check(arrival.payload)
            self._here.put(arrival.payload, now_ns, lambda _: True)
        self._wire.arrivals.clear()
        for passage in self._here.take(now_ns):
            # A damaged one is for the harness to throw away.
            if not passage.is_damaged:
                self._on_datagram(passage.payload)
        self._answer(now_ns)
        for payload, is_damaged in self._back.take(now_ns):
            self._wire.send(payload, self._talk.sink.driver)
            self._outcome.datagrams_sent += 1
            self._outcome.datagrams_damaged += is_damaged
        return self.position > before

    def payloads(self) -> list[bytes]:
        """Return the messages received, put together again; those that are whole."""
        return [message for _, message in join_messages(self._content, self._start)]

    def _check(self, payload: bytes) -> None:
        """Hold what the driver sent to what it was told, before the network changes it."""
        outcome, talk = self._outcome, self._talk
        for frame in self._walk(payload):
            end = end_in_window(frame.type, frame.position, frame.end)
            if end > talk.limit and not outcome.finding:
                outcome.finding = f"data up to position {end} was sent, no window allowed more than {talk.limit}"
            whole = frame_of(frame, payload)
            if frame.position in self._sent:
                outcome.frames_resent += 1
                is_asked = any(start < frame.end and frame.position < end for start, end in talk.asked)
                if not is_asked and not outcome.finding:
                    outcome.finding = f"the frame at position {frame.position} was sent again, though no NAK asked for it"
            if self._sent.setdefault(frame.position, whole) != whole and not outcome.finding:
                outcome.finding = f"the frame at position {frame.position} was sent again with other bytes"

    def _on_datagram(self, payload: bytes) -> None:
        kind = FrameHeaderDecoder(payload).type if len(payload) >= HEADER_LENGTH else -1
        if kind == FrameType.SETUP and len(payload) >= SetupDecoder.ENCODED_LENGTH:
            setup = SetupDecoder(payload)
            if (setup.session_id, setup.stream_id) == (self._known.session_id, self._known.stream_id):
                self._has_setup = True
        elif kind in (FrameType.DATA, FrameType.PAD) and self._has_setup:
            self._on_data(payload)

    def _on_data(self, payload: bytes) -> None:
        header = DataHeaderDecoder(payload)
        if (header.session_id, header.stream_id) != (self._known.session_id, self._known.stream_id):
            return
        self._high = max(self._high, self._talk.frames.position(header.term_id, header.term_offset))
        for frame in self._walk(payload):
            self._content.setdefault(frame.position, frame_of(frame, payload))
            self._high = max(self._high, frame.end)
        while self.position in self._content:
            self.position = next_position(self.position, self._content[self.position])

    def _answer(self, now_ns: int) -> None:
        frames = self._talk.frames
        is_due = now_ns - self._status_ns >= STATUS_PERIOD_NS
        if not self._has_setup:
            if is_due:
                self._status_ns = now_ns
                self._send(frames.elicit(self._id), now_ns)
            return
        if is_due or self.position - self._status_position >= self._window // WINDOW_SHARE or self._status_position < 0:
            self._status_ns, self._status_position = now_ns, self.position
            self._talk.limit = max(self._talk.limit, self.position + self._window)
            self._send(frames.status(self.position, self._window, self._id), now_ns)
        if self.position < self._high and now_ns - self._nak_ns >= NAK_PERIOD_NS:
            self._nak_ns = now_ns
            term_end = (self.position // frames.term_length + 1) * frames.term_length
            end = min([at for at in self._content if at > self.position] + [self._high, term_end])
            self._talk.asked.append((self.position, end))
            self._outcome.naks += 1
            self._send(frames.nak(self.position, end - self.position), now_ns)

    def _send(self, payload: bytes, now_ns: int) -> None:
        self._back.put(payload, now_ns, self._reject())

    def _reject(self) -> Reject:
        return is_no_frame_of_old if self._is_old else rejects(Endpoint.SEND, self._known if self._has_setup else None)

    def _walk(self, payload: bytes) -> list[Frame]:
        return list(walk_frames(payload, self._talk.frames.position))


def frame_of(frame: Frame, payload: bytes) -> bytes:
    """Return the bytes of a frame of a datagram; a PAD's header stands for it."""
    return payload[frame.offset : frame.offset + (frame.length if frame.type == FrameType.DATA else HEADER_LENGTH)]


def flow_control(receivers: int) -> str:
    """Return the parameter with which each of the receivers holds the sender, so that none falls behind for good."""
    return f"fc=min,g:/{receivers},t:{RECEIVER_TIMEOUT_MS}ms"


class ReceiverReplay:
    """One stream's replay: publisher, network and receivers in one loop."""

    def __init__(
        self,
        bench: Bench,
        stream: CapturedStream,
        outcome: StreamOutcome,
        *,
        impairment: Impairment,
        is_paced: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self._bench = bench
        self._is_paced = is_paced
        self._progress = progress
        self.outcome = outcome
        times = {frame.position: sent.time_ns for sent in reversed(stream.sent) for frame in stream.walk(sent.payload)}
        messages = list(join_messages(stream.content, stream.start))
        self._messages = deque((times.get(at, 0), message) for at, message in messages)
        self._expected = [message for _, message in messages]
        self._is_old = is_older(bench.peer.release, TWO_LAYERS_SINCE)
        params = f"mtu={stream.mtu}|term-length={stream.term_length}"
        name = f"{stream.session_id}:{stream.stream_id}"
        self._sink, wires = self._publish(stream, params)
        self._talk = Conversation(self._sink)
        self._receivers = [
            PlayedReceiver(
                self._talk, wire, outcome, impairment, f"{name}:{number}", is_asking=len(stream.destinations) > 1, is_old=self._is_old
            )
            for number, wire in enumerate(wires)
        ]
        outcome.receivers = len(self._receivers)
        outcome.frames_expected = len(self._expected) * outcome.receivers
        self._invalid_before = bench.count(SystemCounter.INVALID_PACKETS)

    def run(self) -> None:
        """Publish until every receiver has everything, something was wrong, or nothing moves any more."""
        started = moved = time.monotonic_ns()
        first_captured = self._messages[0][0] if self._messages else 0
        publication = self._sink.publication
        while not self.outcome.finding and (self._messages or any(it.position < publication.position for it in self._receivers)):
            now = time.monotonic_ns()
            self._bench.client.poll()
            is_early = self._is_paced and bool(self._messages) and self._messages[0][0] > first_captured + now - started
            if self._messages and not is_early and self._sink.is_connected():
                publication.append(self._messages.popleft()[1])
            # Each of them must work: no short cut.
            if sum(it.work(now) for it in self._receivers) or is_early:
                moved = now
            elif not self._messages or not self._sink.is_connected():
                self._sink.wire.wait(now + 500_000)
            if now - moved > STALL_NS:
                self.outcome.finding = self._stuck()
            if self._progress is not None and len(self._messages) % 500 == 0:
                self._progress(f"{len(self._expected) - len(self._messages)} of {len(self._expected)} messages published")
        self.outcome.duration_s = (time.monotonic_ns() - started) / 1e9
        self.outcome.datagrams_dropped = sum(it.lost for it in self._receivers)
        if not self.outcome.finding:
            self._compare()
        if not self.outcome.finding:
            self._check_invalid()

    def _publish(self, stream: CapturedStream, params: str) -> tuple[Sink, list[Wire]]:
        """Publish where the captured receivers were; return the first one's side of it, and the sockets of all."""
        bench = self._bench
        if stream.is_multicast:
            sink = bench.publish_to_group(f"{params}|{flow_control(RECEIVERS_OF_A_GROUP)}")
            sink.driver = (str(ipaddress.ip_address(GROUP) + 1), sink.wire.port)
            others = [bench.wire(GROUP, port=sink.wire.port, interface=LOOPBACK) for _ in range(RECEIVERS_OF_A_GROUP - 1)]
        elif len(stream.destinations) > 1:
            sink = bench.publish_on_demand(f"{params}|{flow_control(len(stream.destinations))}")
            others = [bench.wire() for _ in stream.destinations[1:]]
        else:
            sink = bench.publish(params, host=stream.host)
            others = []
        # Where the driver is answered: where its first frame came from, unless that has been told.
        _ = sink.driver
        return sink, [sink.wire, *others]

    def _compare(self) -> None:
        """Compare what each receiver has with the captured messages."""
        outcome = self.outcome
        for number, receiver in enumerate(self._receivers):
            got = receiver.payloads()
            shorter = min(len(got), len(self._expected))
            same = next((at for at in range(shorter) if got[at] != self._expected[at]), shorter)
            outcome.frames_delivered += same
            outcome.messages_delivered += same
            outcome.bytes_delivered += sum(map(len, got[:same]))
            if got != self._expected and not outcome.finding:
                outcome.finding = (
                    f"receiver {number} got {len(got)} messages of {len(self._expected)}, the first {same} of them as they were published"
                )

    def _stuck(self) -> str:
        at = min(it.position for it in self._receivers)
        written = self._sink.publication.position
        return f"the stream got to position {at} of {written} and no further for {STALL_NS / 1e9:g} s; NAKs sent: {self.outcome.naks}"

    def _check_invalid(self) -> None:
        """Compare the driver's count of invalid packets with the damaged datagrams that it got."""
        outcome, bench = self.outcome, self._bench
        if self._is_old:
            return
        due = self._invalid_before + outcome.datagrams_damaged
        bench.wait_until(lambda: bench.count(SystemCounter.INVALID_PACKETS) >= due, CONDUCTOR_MS)
        outcome.invalid_counted = bench.count(SystemCounter.INVALID_PACKETS) - self._invalid_before
        if outcome.invalid_counted != outcome.datagrams_damaged:
            damaged, counted = outcome.datagrams_damaged, outcome.invalid_counted
            outcome.finding = f"{damaged} damaged datagrams were sent, INVALID_PACKETS went up by {counted}"
