"""What a case works with: one driver, one client of it, and the harness in the part of the other end.

`Source` plays the sender to a subscription of the driver, `Sink` the receiver of one of its publications.
Everything made through a bench is given back when the bench closes.
"""

from __future__ import annotations

import ipaddress
import random
import time
from collections.abc import Callable
from types import TracebackType

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, TERM_LENGTH_MIN
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.codecs.tables.options import OPTIONS
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.client import Client, CommandRefused, Image, Publication
from aerowire.conformance.harness.frames import DEFAULT_MTU, StreamFrames
from aerowire.conformance.harness.ring import align
from aerowire.conformance.harness.trace import Exchange, exchanges_of
from aerowire.conformance.harness.units import parse_duration_ns
from aerowire.conformance.harness.wire import PATIENCE_S, Address, Arrival, Wire, authority, free_port
from aerowire.conformance.model import Finding, TimingMiss
from aerowire.conformance.peers.base import Peer

LOOPBACK = "127.0.0.1"
# A group for data: its last byte is odd, the next address is for control frames.
GROUP = "224.20.30.41"
# Terms as short as the protocol allows: a wrap is near and files are small.
TERM_LENGTH = TERM_LENGTH_MIN
PORT_ATTEMPTS = 5
# A confirmed subscription reaches the receiver within its idle time; a starved machine may need some of these.
PROBES = 20
PROBE_MS = 25.0
# Added to a bound: what a quiet host's scheduler may take of a periodic timer, and of an immediate reaction.
TIMER_TOLERANCE_MS = 20.0
REACTION_MS = 5.0
# A command, an image or a state change that passes through the driver's conductor and creates files.
CONDUCTOR_MS = 200.0


class Subscription:
    """A subscription of the harness's client, the port that the driver listens on for it, and the interface that leads there."""

    def __init__(self, registration_id: int, host: str, port: int, stream_id: int, channel: str = "", *, interface: str = "") -> None:
        self.registration_id = registration_id
        self.address: Address = (host, port)
        self.stream_id = stream_id
        self.channel = channel
        self.interface = interface or host


class Bench:
    """The workplace of one attempt of one case."""

    def __init__(self, peer: Peer, seed: str) -> None:
        self.peer = peer
        self.random = random.Random(seed)
        self._wires: list[Wire] = []
        self.client = Client(peer.directory)

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the client and every socket."""
        for wire in self._wires:
            wire.close()
        self.client.close()

    def exchanges(self) -> tuple[list[Exchange], int]:
        """Return what went over the case's sockets, and how much of it is left out."""
        return exchanges_of(self._wires)

    # -- making things ----------------------------------------------------------------------------------------------

    def wire(self, host: str = LOOPBACK, *, port: int = 0, interface: str = "") -> Wire:
        """Open a UDP endpoint of the harness; with an `interface`, `host` is a group that is joined there."""
        wire = Wire(host, port=port, interface=interface)
        self._wires.append(wire)
        return wire

    def new_id(self) -> int:
        """Return a random positive 31-bit number for a session or a stream."""
        return self.random.randrange(10_000, 2**31 - 1)

    def subscribe(
        self, params: str = "", *, host: str = LOOPBACK, stream_id: int | None = None, session_id: int | None = None
    ) -> Subscription:
        """Subscribe on a free port and wait until the driver listens; `params` are further channel parameters as `key=value|key=value`.

        With a `session_id` to that session only. The driver has then asked for its SETUP already.
        """
        if session_id is not None:
            params = f"{params}|session-id={session_id}".strip("|")
        subscription = self.listen(params, host=host, stream_id=stream_id)
        self._await_interest(subscription, session_id)
        return subscription

    def listen(self, params: str = "", *, host: str = LOOPBACK, stream_id: int | None = None) -> Subscription:
        """Subscribe on a free port; the driver has confirmed that it will listen, but may not do so yet."""
        stream_id = self.new_id() if stream_id is None else stream_id
        for attempt in range(PORT_ATTEMPTS):
            port = free_port(host)
            channel = f"aeron:udp?endpoint={authority(host, port)}" + (f"|{params}" if params else "")
            try:
                registration_id = self.client.add_subscription(channel, stream_id)
            except CommandRefused:
                # Somebody may have taken the port since it was seen free.
                if attempt == PORT_ATTEMPTS - 1:
                    raise
                continue
            return Subscription(registration_id, host, port, stream_id, channel)
        raise AssertionError("unreachable")

    def subscribe_group(
        self, group: str, params: str = "", *, host: str = LOOPBACK, stream_id: int | None = None
    ) -> tuple[Subscription, Wire]:
        """Subscribe to a multicast group on the interface of `host`; return the harness's ear on the control group too."""
        interface = f"[{host}]" if ":" in host else host
        stream_id = self.new_id() if stream_id is None else stream_id
        port = free_port(host)
        channel = f"aeron:udp?endpoint={authority(group, port)}|interface={interface}" + (f"|{params}" if params else "")
        control = self.wire(str(ipaddress.ip_address(group) + 1), port=port, interface=host)
        registration_id = self.client.add_subscription(channel, stream_id)
        return Subscription(registration_id, group, port, stream_id, channel, interface=host), control

    def subscribe_to_many(self, count: int, params: str = "", *, host: str = LOOPBACK, stream_id: int | None = None) -> list[Subscription]:
        """Subscribe at many destinations and wait until the driver listens at each; return the one subscription by its destinations."""
        stream_id = self.new_id() if stream_id is None else stream_id
        channel = "aeron:udp?control-mode=manual" + (f"|{params}" if params else "")
        registration_id = self.client.add_subscription(channel, stream_id)
        found = [Subscription(registration_id, host, free_port(host), stream_id, channel) for _ in range(count)]
        for subscription in found:
            self.client.add_receive_destination(registration_id, f"aeron:udp?endpoint={authority(*subscription.address)}")
            self._await_interest(subscription, None)
        return found

    def _await_interest(self, subscription: Subscription, session_id: int | None) -> None:
        """Wait until the driver's receiver knows of a subscription that its conductor has already confirmed.

        Nothing in shared memory shows that moment, so a session of its own asks on the wire; a driver that never
        answers it is left to the cases.
        """
        probe = Source(self, subscription, initial_term_id=0, mtu=DEFAULT_MTU)
        if session_id is not None:
            probe.frames.session_id = session_id
        for _ in range(PROBES):
            probe.send(probe.frames.data(0, b"probe"))
            # From the start: a driver may answer before the send returns.
            if probe.wire.collect(PROBE_MS, start=0, match=frames.is_elicit, until=frames.is_elicit):
                return

    def source(self, subscription: Subscription, *, initial_term_id: int | None = None, mtu: int = DEFAULT_MTU) -> Source:
        """Play a sender of a new session to a subscription."""
        return Source(self, subscription, initial_term_id=initial_term_id, mtu=mtu)

    def publish(self, params: str = "", *, host: str = LOOPBACK) -> Sink:
        """Add a publication whose endpoint is a socket of the harness; return the receiver's side of it."""
        wire = self.wire(host)
        return self._publish(wire, f"endpoint={wire.authority}", params)

    def publish_to_group(self, params: str = "") -> Sink:
        """Add a publication to a multicast group that the harness has joined; return one receiver's side of it."""
        wire = self.wire(GROUP, interface=LOOPBACK)
        sink = self._publish(wire, f"endpoint={wire.authority}|interface={LOOPBACK}", params)
        sink.driver = (str(ipaddress.ip_address(GROUP) + 1), wire.port)
        return sink

    def publish_on_demand(self, params: str = "", *, mode: str = "dynamic") -> Sink:
        """Add a publication that sends to whoever sends status messages to its control port; return a receiver's side that has asked."""
        port = free_port()
        sink = self._publish(self.wire(), f"control={LOOPBACK}:{port}|control-mode={mode}", params)
        sink.driver = (LOOPBACK, port)
        # As with interest, nothing shows when the sender knows of a publication that its conductor has confirmed.
        for _ in range(PROBES):
            sink.send(sink.frames.elicit(sink.receiver_id))
            if sink.wire.collect(PROBE_MS, start=0, match=frames.is_setup, until=frames.is_setup):
                break
        return sink

    def _publish(self, wire: Wire, address: str, params: str) -> Sink:
        extra = "" if "term-length=" in params else f"|term-length={TERM_LENGTH}"
        channel = f"aeron:udp?{address}{extra}" + (f"|{params}" if params else "")
        added_ns = time.monotonic_ns()
        return Sink(self, wire, self.client.add_publication(channel, self.new_id()), added_ns)

    # -- counters and options ---------------------------------------------------------------------------------------

    def count(self, counter: SystemCounter) -> int:
        """Return the value of a system counter."""
        return self.client.system_counter(counter)

    def expect_count(self, counter: SystemCounter, value: int, *, within_ms: float = CONDUCTOR_MS) -> None:
        """Wait until a system counter reaches `value`, and check that it does not pass it."""
        what = f"counter {counter.name} ({int(counter)}) at {value}"
        self.expect(lambda: self.count(counter) >= value, what, within_ms=within_ms, actual=lambda: f"it is at {self.count(counter)}")
        if self.count(counter) != value:
            raise Finding(what, f"it is at {self.count(counter)}")

    def expect_counts_unchanged(self, before: dict[SystemCounter, int]) -> None:
        """Check that counters still have the values of `counts`."""
        for counter, value in before.items():
            if self.count(counter) != value:
                raise Finding(f"counter {counter.name} unchanged at {value}", f"it is at {self.count(counter)}")

    def counts(self, *counters: SystemCounter) -> dict[SystemCounter, int]:
        """Return the values of several system counters."""
        return {counter: self.count(counter) for counter in counters}

    def option_ns(self, name: str) -> int:
        """Return a duration option of the driver in force, in nanoseconds."""
        option = OPTIONS[name]
        text = self.peer.properties.get(option.property)
        return parse_duration_ns(text) if text is not None else int(str(option.default))

    def option_int(self, name: str) -> int:
        """Return an integer option of the driver in force."""
        option = OPTIONS[name]
        return int(self.peer.properties.get(option.property) or str(option.default))

    # -- waiting ----------------------------------------------------------------------------------------------------

    def wait_until(self, condition: Callable[[], bool], within_ms: float) -> bool:
        """Wait until `condition` holds, taking in the driver's news meanwhile; return whether it did in time."""
        return self.client.wait_for(condition, within_ms / 1e3)

    def expect(self, condition: Callable[[], bool], what: str, *, within_ms: float, actual: Callable[[], object] | None = None) -> None:
        """Wait until `condition` holds: TimingMiss when it holds only after `within_ms`, Finding when it does not."""
        start = time.monotonic_ns()
        if self.wait_until(condition, within_ms):
            return
        seen = f"{actual()}" if actual is not None else "it did not happen"
        if self.wait_until(condition, PATIENCE_S * 1e3):
            raise TimingMiss(f"{what} within {within_ms:g} ms", f"it took {(time.monotonic_ns() - start) / 1e6:.0f} ms")
        raise Finding(f"{what} within {within_ms:g} ms", seen)

    def pause(self, milliseconds: float) -> None:
        """Let time pass while the client stays current."""
        self.client.wait_for(lambda: False, milliseconds / 1e3)


class Source:
    """The harness as a sender towards one subscription of the driver."""

    def __init__(self, bench: Bench, subscription: Subscription, *, initial_term_id: int | None, mtu: int) -> None:
        self._bench = bench
        self.subscription = subscription
        self.wire = bench.wire(subscription.interface)
        first = bench.random.randrange(-(2**31), 2**31 - 16) if initial_term_id is None else initial_term_id
        self.frames = StreamFrames(bench.new_id(), subscription.stream_id, initial_term_id=first, term_length=TERM_LENGTH, mtu=mtu)

    @property
    def window(self) -> int:
        """The receiver window that a default driver announces for the harness's terms."""
        return TERM_LENGTH // 2

    def send(self, datagram: bytes) -> int:
        """Send one datagram to the subscription's endpoint; return when it left."""
        return self.wire.send(datagram, self.subscription.address)

    def send_data(self, position: int, payload: bytes) -> int:
        """Send one unfragmented DATA frame; return the position behind it."""
        self.send(self.frames.data(position, payload))
        return position + frames.aligned(len(payload))

    def send_message(self, position: int, payload: bytes) -> int:
        """Send one DATA frame, behind a PAD where the term has no room for it; return the position behind it."""
        left = self.frames.term_length - position % self.frames.term_length
        if frames.aligned(len(payload)) > left:
            self.send(self.frames.padding(position, left))
            position += left
        return self.send_data(position, payload)

    def images(self) -> list[Image]:
        """Return the images that the driver announced for this session."""
        found = self._bench.client.images_of(self.subscription.registration_id)
        return [image for image in found if image.session_id == self.frames.session_id]

    def expect_image(self, *, within_ms: float = CONDUCTOR_MS) -> Image:
        """Wait for this session's image."""
        self._bench.expect(lambda: bool(self.images()), "an available image", within_ms=within_ms, actual=lambda: "no image")
        return self.images()[0]

    def start(self, position: int = 0) -> Image:
        """Introduce the stream at `position` and wait for its image and the first status message."""
        self.send(self.frames.setup(position))
        image = self.expect_image()
        self.wire.expect(frames.is_plain_status, "the first status message", within_ms=CONDUCTOR_MS)
        return image

    def expect_elicit(self, *, within_ms: float = REACTION_MS, start: int = 0, since_ns: int | None = None) -> Arrival:
        """Wait for a status message that asks this session for a SETUP."""
        session_id = self.frames.session_id
        return self.wire.expect(
            lambda frame: frames.is_elicit(frame) and frame.session_id == session_id,
            "an eliciting status message",
            within_ms=within_ms,
            start=start,
            since_ns=since_ns,
        )

    def expect_payloads(self, image: Image, expected: list[bytes], *, within_ms: float = CONDUCTOR_MS) -> None:
        """Poll the image until as many payloads came as expected, compare them, and consume them in one step."""
        got: list[bytes] = []

        def advance() -> bool:
            got.extend(fragment.payload for fragment in image.poller.poll())
            return len(got) >= len(expected)

        self._bench.wait_until(advance, within_ms + PATIENCE_S * 1e3)
        if got != expected:
            same = next((at for at, (a, b) in enumerate(zip(got, expected, strict=False)) if a != b), min(len(got), len(expected)))
            raise Finding(f"{len(expected)} payloads delivered in order", f"{len(got)} came, the first {same} of them as sent")
        image.publish()

    def stream_counter(self, type_id: CounterType) -> int:
        """Return a counter of this session's image, which must have been announced."""
        return self._bench.client.stream_counter(type_id, self.images()[0].correlation_id)


class Sink:
    """The harness as a receiver of one of the driver's publications."""

    def __init__(self, bench: Bench, wire: Wire, publication: Publication, added_ns: int) -> None:
        self._bench = bench
        self.wire = wire
        self.publication = publication
        self.added_ns = added_ns
        self.receiver_id = bench.random.randrange(1, 2**62)
        log = publication.log
        self.frames = StreamFrames(
            publication.session_id,
            publication.stream_id,
            initial_term_id=log.initial_term_id,
            term_length=log.term_length,
            mtu=log.mtu,
        )
        self._driver: Address | None = None

    @property
    def window(self) -> int:
        """The largest window that a receiver may announce for this stream."""
        return self.frames.term_length // 2

    @property
    def driver(self) -> Address:
        """Where the driver hears status messages: told, or where its first frame came from."""
        if self._driver is None:
            arrival = self.wire.expect(lambda _: True, "a first frame of the publication", within_ms=CONDUCTOR_MS)
            self._driver = arrival.source
        return self._driver

    @driver.setter
    def driver(self, address: Address) -> None:
        self._driver = address

    def send(self, datagram: bytes) -> int:
        """Send one datagram to the publication's endpoint; return when it left."""
        return self.wire.send(datagram, self.driver)

    def send_status(self, position: int | None = None, *, window: int | None = None, flags: int = 0) -> int:
        """Send a status message; by default everything written is consumed and the largest window is open."""
        at = self.publication.start_position if position is None else position
        return self.send(self.frames.status(at, self.window if window is None else window, self.receiver_id, flags=flags))

    def connect(self) -> None:
        """Answer the SETUP with a status message and wait until the driver counts the stream as connected."""
        self.send_status()
        self._bench.expect(self.is_connected, "the publication to be connected", within_ms=CONDUCTOR_MS)

    def is_connected(self) -> bool:
        """Say whether the publication's log is marked connected and its publisher has room to write."""
        return self.publication.log.is_connected and self.publication.limit > self.publication.position

    def counter(self, type_id: CounterType) -> int:
        """Return a counter of the publication."""
        return self._bench.client.stream_counter(type_id, self.publication.registration_id)

    def publish(self, messages: list[bytes], *, mark: int | None = None) -> list[Arrival]:
        """Append messages and wait until the driver has sent them.

        Return the datagrams with data that came since, or since arrival `mark`.
        """
        mark = self.wire.mark() if mark is None else mark
        position = self.publication.position
        for message in messages:
            self.publication.append(message)
        until_ns = time.monotonic_ns() + int(CONDUCTOR_MS * 1e6 + PATIENCE_S * 1e9)
        index = mark
        while position < self.publication.position:
            if index == len(self.wire.arrivals) and not self.wire.wait(until_ns):
                raise Finding(f"the stream sent up to position {self.publication.position}", f"it was sent up to {position} and no further")
            for frame in self.wire.arrivals[index].frames:
                if frames.is_data(frame) and self.frames.term(position) == (frame.term_id, frame.term_offset):
                    position += align(frame.frame_length, FRAME_ALIGNMENT)
            index += 1
        return [arrival for arrival in self.wire.arrivals[mark:] if arrival.frames and frames.is_data(arrival.first)]
