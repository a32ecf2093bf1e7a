"""Group J: subscriptions that receive one stream at several places."""

from __future__ import annotations

import time

from aerowire.codecs.flyweights.logbuffer import END_OF_STREAM_POSITION_UNSET
from aerowire.codecs.flyweights.transport import DataFlags, SmFlags
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.cases.listeners import KIB, MESSAGE, SILENCE_MS
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, LOOPBACK, REACTION_MS, TERM_LENGTH, TIMER_TOLERANCE_MS, Bench, Subscription
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.client import Image
from aerowire.conformance.harness.log import ExclusiveAppender
from aerowire.conformance.harness.wire import Address, Wire, authority, free_port
from aerowire.conformance.model import Finding, TimingMiss, case

# How long a sender that is silent at one place is answered there; no option changes it.
ADDRESS_TIMEOUT_MS = 5_000.0
MESSAGES = 10
# J14: looks for a message that stands in the log at once.
ATTEMPTS = 10
EOS = DataFlags.UNFRAGMENTED | DataFlags.EOS


class Paths:
    """A subscription that receives at two places, and a stream that the harness sends to them from a socket each."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        stream_id = bench.new_id()
        self.id = bench.client.add_subscription("aeron:udp?control-mode=manual", stream_id)
        self.addresses: list[Address] = [(LOOPBACK, free_port()) for _ in range(2)]
        for address in self.addresses:
            bench.client.add_receive_destination(self.id, self.channel(address))
        self.source = bench.source(Subscription(self.id, *self.addresses[0], stream_id))
        self.frames = self.source.frames
        self.wires: list[Wire] = [self.source.wire, bench.wire()]
        self.image = self._start()

    @staticmethod
    def channel(address: Address) -> str:
        """Return the channel of a destination."""
        return f"aeron:udp?endpoint={authority(*address)}"

    def send(self, path: int, datagram: bytes) -> int:
        """Send a datagram along a path; return when it left."""
        return self.wires[path].send(datagram, self.addresses[path])

    def send_both(self, datagram: bytes) -> None:
        """Send a datagram along both paths."""
        for path in range(2):
            self.send(path, datagram)

    def _start(self) -> Image:
        """Introduce the stream at both places, until it has an image and is answered at both."""
        for _ in range(20):
            self.send_both(self.frames.setup())
            if self._bench.wait_until(lambda: bool(self.source.images()), SILENCE_MS):
                break
        image = self.source.expect_image()
        for path, wire in enumerate(self.wires):
            self.send(path, self.frames.heartbeat(0))
            wire.expect(frames.is_plain_status, f"a status message on path {path}", within_ms=2 * CONDUCTOR_MS)
        return image


@case(
    "J10",
    requirement="What one place misses is filled by what comes in at another, and nothing is delivered twice.",
    source="Aeron: PublicationImage.insertPacket; DataPacketDispatcher.onDataPacket",
    stimulus="10 frames of 1 KiB at two places, of which the first misses three and the second two others",
    expected="all ten delivered once and in order",
    bound="200 ms (through the conductor)",
)
def j10(bench: Bench) -> None:
    """Two paths that lose."""
    paths = Paths(bench)
    payloads = [bench.random.randbytes(len(MESSAGE)) for _ in range(MESSAGES)]
    for index, payload in enumerate(payloads):
        for path, missing in enumerate(((2, 3, 7), (5, 9))):
            if index not in missing:
                paths.send(path, paths.frames.data(index * KIB, payload))
    paths.source.expect_payloads(paths.image, payloads)
    paths.send_both(paths.frames.data(0, payloads[0]))
    bench.pause(SILENCE_MS)
    check_equal("fragments behind the last", len(paths.image.poller.poll()), 0)


@case(
    "J11",
    requirement="Status messages and NAKs go to every place that the stream came in at within the last five seconds, and to no other.",
    source="Aeron: MultiRcvDestination.sendToAll; ReceiveChannelEndpoint.DESTINATION_ADDRESS_TIMEOUT",
    stimulus="a gap that both places show; then heartbeats at one place only",
    expected="the NAK at both; status messages at both until five seconds later, then at one",
    bound="5 s + 20 ms; the last one no more than a status message timeout before",
)
def j11(bench: Bench) -> None:
    """Places that are answered."""
    paths = Paths(bench)
    paths.send_both(paths.frames.data(KIB, MESSAGE))
    for path, wire in enumerate(paths.wires):
        wire.expect(frames.is_nak, f"a NAK on path {path}", within_ms=CONDUCTOR_MS)
    silent_ns = time.monotonic_ns()
    paths.send_both(paths.frames.data(0, MESSAGE))
    period_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    living, silent = paths.wires
    while (elapsed_ms := (time.monotonic_ns() - silent_ns) / 1e6) < ADDRESS_TIMEOUT_MS + 2 * period_ms:
        paths.send(0, paths.frames.heartbeat(2 * KIB))
        bench.pause(min(period_ms, max(1.0, ADDRESS_TIMEOUT_MS + 2 * period_ms - elapsed_ms)))
    expected = f"status messages on the silent path for {ADDRESS_TIMEOUT_MS:g} ms"
    for wire in paths.wires:
        wire.read()
    ends = []
    for wire in (living, silent):
        times = [(one.time_ns - silent_ns) / 1e6 for one in wire.arrivals if frames.is_plain_status(one.first)]
        ends.append(max(times))
    if ends[0] < ADDRESS_TIMEOUT_MS:
        raise Finding("status messages on the path that goes on", f"the last came after {ends[0]:.0f} ms")
    if not ADDRESS_TIMEOUT_MS - period_ms - TIMER_TOLERANCE_MS <= ends[1] <= ADDRESS_TIMEOUT_MS + TIMER_TOLERANCE_MS:
        kind = TimingMiss if abs(ends[1] - ADDRESS_TIMEOUT_MS) < period_ms + 2 * TIMER_TOLERANCE_MS else Finding
        raise kind(expected, f"the last came after {ends[1]:.0f} ms")


@case(
    "J12",
    requirement="A stream that comes in at several places ends when each of them says so, at the highest of the positions they give.",
    source="Aeron: PublicationImage.isAllConnectedEos and findEosPosition",
    stimulus="2 frames of 1 KiB; a heartbeat with the end-of-stream flag at 2 KiB at the first place, then one at 1 KiB at the second",
    expected="no end after the first; end-of-stream position 2 KiB after the second, and a status message with flag 0x40",
    bound="200 ms; the status message when its timer allows",
)
def j12(bench: Bench) -> None:
    """The end at all places."""
    paths = Paths(bench)
    for index in range(2):
        paths.send_both(paths.frames.data(index * KIB, MESSAGE))
    paths.source.expect_payloads(paths.image, [MESSAGE] * 2)
    log, heard = paths.image.log, bench.count(SystemCounter.HEARTBEATS_RECEIVED)
    paths.send(0, paths.frames.heartbeat(2 * KIB, flags=EOS))
    bench.expect(lambda: bench.count(SystemCounter.HEARTBEATS_RECEIVED) > heard, "the heartbeat to be counted", within_ms=CONDUCTOR_MS)
    bench.pause(SILENCE_MS)
    check_equal("end-of-stream position after one of two ends", log.end_of_stream_position, END_OF_STREAM_POSITION_UNSET)
    paths.send(1, paths.frames.heartbeat(KIB, flags=EOS))
    bench.expect(
        lambda: log.end_of_stream_position == 2 * KIB,
        f"end-of-stream position {2 * KIB}",
        within_ms=CONDUCTOR_MS,
        actual=lambda: log.end_of_stream_position,
    )
    within_ms = 2 * CONDUCTOR_MS + bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    paths.wires[0].expect(
        lambda frame: frames.is_status(frame) and bool(int(frame.flags) & SmFlags.EOS),
        "a status message with flag 0x40",
        within_ms=within_ms,
    )


@case(
    "J13",
    requirement="A place can be taken from a subscription while a stream comes in there; it goes on at the others.",
    source="Aeron: PublicationImage.removeDestination and updateActiveTransportCount; DriverConductor.onRemoveRcvDestination",
    stimulus="a stream at two places, of which the second is removed; data there, then at the first",
    expected="active transports 2 and 1 in the log; nothing delivered from the place that is gone, all from the other",
    bound="the driver's timer interval + 200 ms",
)
def j13(bench: Bench) -> None:
    """A place that is given up."""
    paths = Paths(bench)
    log = paths.image.log
    within_ms = bench.option_ns("timer_interval_ns") / 1e6 + CONDUCTOR_MS

    def expect_transports(count: int) -> None:
        bench.expect(
            lambda: log.active_transport_count == count,
            f"active transports {count}",
            within_ms=within_ms,
            actual=lambda: log.active_transport_count,
        )

    paths.send_both(paths.frames.data(0, MESSAGE))
    paths.source.expect_payloads(paths.image, [MESSAGE])
    expect_transports(2)
    bench.client.remove_receive_destination(paths.id, paths.channel(paths.addresses[1]))
    expect_transports(1)
    paths.send(1, paths.frames.data(KIB, MESSAGE))
    bench.pause(SILENCE_MS)
    check_equal("fragments from the place that is gone", len(paths.image.poller.poll()), 0)
    paths.send(0, paths.frames.data(KIB, MESSAGE))
    paths.source.expect_payloads(paths.image, [MESSAGE])


@case(
    "J14",
    requirement="A spy on a publication, and IPC, may be destinations of a subscription like places of the network.",
    source="Aeron: DriverConductor.onAddRcvIpcDestination, onAddRcvSpyDestination and onRemoveRcvIpcOrSpyDestination",
    stimulus="a network and an IPC publication of one stream; a spy and aeron:ipc as destinations of a subscription; a message on each; "
    "then the IPC destination is removed",
    expected="an image and the message of each; the image of the IPC publication unavailable at last, the other not",
    bound="200 ms (through the conductor)",
)
def j14(bench: Bench) -> None:
    """Places on the same machine."""
    sink = bench.publish()
    stream_id = sink.publication.stream_id
    local = bench.client.add_publication(f"aeron:ipc?term-length={TERM_LENGTH}", stream_id)
    subscription_id = bench.client.add_subscription("aeron:udp?control-mode=manual", stream_id)
    sink.connect()
    bench.client.add_receive_destination(subscription_id, f"aeron-spy:aeron:udp?endpoint={sink.wire.authority}")
    bench.client.add_receive_destination(subscription_id, "aeron:ipc")
    images: dict[int, Image] = {}
    for publication, what in ((sink.publication, "network"), (local, "IPC")):
        image = expect_image(bench, subscription_id, publication.session_id, what)
        images[publication.session_id] = image
        message = bench.random.randbytes(100)
        ExclusiveAppender(publication.log, publication.session_id, stream_id).append(message)
        got: list[bytes] = []
        for _ in range(ATTEMPTS):
            got.extend(fragment.payload for fragment in image.consume())
            if got:
                break
            bench.pause(REACTION_MS)
        check_equal(f"messages of the {what} publication", got, [message])
    bench.client.remove_receive_destination(subscription_id, "aeron:ipc")
    gone = images[local.session_id].correlation_id
    bench.expect(lambda: gone in bench.client.unavailable, "the image of the IPC publication unavailable", within_ms=CONDUCTOR_MS)
    check_equal("unavailable images", bench.client.unavailable.count(images[sink.publication.session_id].correlation_id), 0)


def expect_image(bench: Bench, subscription_id: int, session_id: int, what: str) -> Image:
    """Wait until a subscription was given the image of a session."""

    def found() -> list[Image]:
        return [image for image in bench.client.images_of(subscription_id) if image.session_id == session_id]

    bench.expect(lambda: bool(found()), f"an image of the {what} publication", within_ms=CONDUCTOR_MS)
    return found()[0]
