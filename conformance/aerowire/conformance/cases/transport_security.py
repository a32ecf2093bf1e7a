"""Group O: frame types of transport security, which the open drivers neither take nor send."""

from __future__ import annotations

from collections.abc import Callable

from aerowire.codecs.flyweights.transport import FrameHeaderEncoder, FrameType, SmFlags
from aerowire.conformance.cases.malformed import expect_invalid
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, Bench
from aerowire.conformance.harness.frames import StreamFrames
from aerowire.conformance.harness.wire import Wire
from aerowire.conformance.model import Case, Finding, case

SECURE = (FrameType.ATS_DATA, FrameType.ATS_SETUP, FrameType.ATS_SM)
EXPECTED = "INVALID_PACKETS + 1 each, no reply, driver alive"
MESSAGE = bytes(1000)
HEARTBEAT_PERIOD_MS = 100.0


def expect_unknown(bench: Bench, kind: FrameType, *shapes: Callable[[StreamFrames], bytes]) -> None:
    """Send frames that would be good ones but for their type; each must be an invalid packet."""
    for shape in shapes:
        expect_invalid(bench, f"a frame of type {int(kind)}", marking(shape, kind))


def marking(shape: Callable[[StreamFrames], bytes], kind: FrameType) -> Callable[[StreamFrames], bytes]:
    """Return what makes the same datagram with another frame type."""

    def build(stream: StreamFrames) -> bytes:
        changed = bytearray(shape(stream))
        FrameHeaderEncoder(changed).type = kind
        return bytes(changed)

    return build


def data_of(stream: StreamFrames) -> bytes:
    """DATA at the stream's beginning."""
    return stream.data(0, bytes(32))


def setup_of(stream: StreamFrames) -> bytes:
    """The stream's SETUP."""
    return stream.setup()


def status_of(stream: StreamFrames) -> bytes:
    """A status message that opens the stream's largest window."""
    return stream.status(0, stream.term_length // 2, 1)


@case(
    "O01",
    requirement="A frame of type 8, secured data, is an invalid packet: counted, never answered.",
    source="Aeron: UdpChannelTransport.isValidFrame",
    stimulus="a good DATA frame marked as type 8, to a subscription's and to a publication's endpoint",
    expected=EXPECTED,
    since="1.53",
)
def o01(bench: Bench) -> None:
    """Secured data."""
    expect_unknown(bench, FrameType.ATS_DATA, data_of)


@case(
    "O02",
    requirement="A frame of type 9, a secured SETUP or status message, is an invalid packet: counted, never answered.",
    source="Aeron: UdpChannelTransport.isValidFrame",
    stimulus="a good SETUP and a good status message marked as type 9, to a subscription's and to a publication's endpoint",
    expected=EXPECTED,
    since="1.53",
)
def o02(bench: Bench) -> None:
    """Secured SETUP of C, status message of Java."""
    expect_unknown(bench, FrameType.ATS_SETUP, setup_of, status_of)


@case(
    "O03",
    requirement="A frame of type 10, a secured status message or SETUP, is an invalid packet: counted, never answered.",
    source="Aeron: UdpChannelTransport.isValidFrame",
    stimulus="a good status message and a good SETUP marked as type 10, to a subscription's and to a publication's endpoint",
    expected=EXPECTED,
    since="1.53",
)
def o03(bench: Bench) -> None:
    """Secured status message of C, SETUP of Java."""
    expect_unknown(bench, FrameType.ATS_SM, status_of, setup_of)


def check_plain(wire: Wire) -> None:
    """Check that no frame that came is of a secured type."""
    for arrival in wire.arrivals:
        if any(int(frame.type) in SECURE for frame in arrival.frames):
            raise Finding("no frame of the types 8, 9 and 10", f"{arrival!r}")


@case(
    "O04",
    requirement="Streams whose channels ask for no transport security use no frames of it.",
    source="Aeron: NetworkPublication.send; PublicationImage.sendPendingStatusMessage, sendPendingLoss",
    stimulus="a publication from SETUP over data and retransmission to its end; an image from the request for SETUP over a NAK to its end",
    expected="SETUP, DATA, SM and NAK, and no frame of the types 8, 9 and 10",
)
def o04(bench: Bench) -> None:
    """Plain streams."""
    sink = bench.publish()
    sink.connect()
    sink.publish([MESSAGE] * 3)
    mark = sink.wire.mark()
    sink.send(sink.frames.nak(0, frames.aligned(len(MESSAGE))))
    sink.send(sink.frames.elicit(sink.receiver_id))
    sink.wire.expect(frames.is_data, "a retransmission", within_ms=CONDUCTOR_MS, start=mark)
    sink.wire.expect(frames.is_setup, "an elicited SETUP", within_ms=CONDUCTOR_MS, start=mark)
    bench.client.remove_publication(sink.publication)
    mark = sink.wire.mark()
    sink.wire.expect(frames.is_heartbeat, "a heartbeat", within_ms=2 * HEARTBEAT_PERIOD_MS, start=mark)
    check_plain(sink.wire)
    source = bench.source(bench.subscribe())
    source.send_data(0, MESSAGE)
    source.expect_elicit(within_ms=CONDUCTOR_MS)
    source.start()
    source.send_data(frames.aligned(len(MESSAGE)), MESSAGE)
    source.wire.expect(frames.is_nak, "a NAK", within_ms=CONDUCTOR_MS)
    bench.client.remove_subscription(source.subscription.registration_id)
    mark = source.wire.mark()
    source.wire.expect(
        lambda frame: frames.is_status(frame) and bool(int(frame.flags) & SmFlags.EOS),
        "a status message that takes leave",
        within_ms=2 * CONDUCTOR_MS,
        start=mark,
    )
    check_plain(source.wire)


CASES: tuple[Case, ...] = (o01, o02, o03, o04)
