"""Group M: malformed datagrams. Here those that are no frame at all."""

from __future__ import annotations

from collections.abc import Callable

from aerowire.codecs.flyweights.transport import (
    DataHeaderDecoder,
    ErrorFrameDecoder,
    FrameHeaderDecoder,
    FrameType,
    NakDecoder,
    ResponseSetupDecoder,
    RttmDecoder,
    SetupDecoder,
    StatusMessageDecoder,
)
from aerowire.codecs.scapy import transport as layers
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.cases import malformed_hostile, malformed_setups
from aerowire.conformance.cases.hostile import VALIDATION, cut, edited, expect_both_work
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import LOOPBACK, REACTION_MS, Bench
from aerowire.conformance.harness.frames import StreamFrames
from aerowire.conformance.model import Case, Finding, case

SILENCE_MS = 10 * REACTION_MS
IS_VALID = "Aeron: UdpChannelTransport.isValidFrame"
# The largest payload of UDP over IPv4; drivers read up to 65,504 bytes of it.
DATAGRAM_MAX = 65_507


def expect_invalid(bench: Bench, build: str, datagram_of: Callable[[StreamFrames], bytes]) -> None:
    """Send a malformed datagram to a receiving and a sending endpoint; each must count it and keep silent."""
    source = bench.source(bench.subscribe())
    sink = bench.publish()
    for wire, address, stream in ((source.wire, source.subscription.address, source.frames), (sink.wire, sink.driver, sink.frames)):
        invalid = bench.count(SystemCounter.INVALID_PACKETS)
        mark = wire.mark()
        wire.send(datagram_of(stream), address)
        bench.expect_count(SystemCounter.INVALID_PACKETS, invalid + 1)
        # The publication's own SETUPs go on; they answer nothing.
        wire.expect_none(lambda frame: not frames.is_setup(frame), f"reply to {build}", for_ms=SILENCE_MS, start=mark)
        bench.expect_count(SystemCounter.INVALID_PACKETS, invalid + 1)
    expect_both_work(bench, source, sink)


def malformed(case_id: str, rule: str, build: str, datagram_of: Callable[[StreamFrames], bytes], *, since: str = VALIDATION) -> Case:
    """Return the case of one malformed datagram: `rule` says which datagrams are none, `build` what is sent."""
    return case(
        case_id,
        requirement=f"{rule} is an invalid packet: counted, never answered.",
        source=IS_VALID,
        stimulus=f"{build}, to a subscription's and to a publication's endpoint",
        expected="INVALID_PACKETS + 1 each, no reply, driver alive",
        since=since,
    )(lambda bench: expect_invalid(bench, build, datagram_of))


def status(stream: StreamFrames) -> bytes:
    """A good status message."""
    return stream.status(0, stream.term_length // 2, 1)


def rttm(stream: StreamFrames) -> bytes:
    """A good RTTM."""
    return bytes(layers.Rttm(session_id=stream.session_id, stream_id=stream.stream_id))


@case(
    "M17",
    requirement="A datagram without a byte does no harm and is not answered.",
    source="Aeron: UdpChannelTransport.receive; UdpChannelTransport.isValidFrame",
    stimulus="an empty datagram, to a subscription's and to a publication's endpoint",
    expected="no reply, INVALID_PACKETS + 1 each at most, driver alive",
)
def m17(bench: Bench) -> None:
    """Nothing at all."""
    source = bench.source(bench.subscribe())
    sink = bench.publish()
    for wire, address in ((source.wire, source.subscription.address), (sink.wire, sink.driver)):
        invalid = bench.count(SystemCounter.INVALID_PACKETS)
        mark = wire.mark()
        wire.send(b"", address)
        wire.expect_none(lambda frame: not frames.is_setup(frame), "reply to an empty datagram", for_ms=SILENCE_MS, start=mark)
        counted = bench.count(SystemCounter.INVALID_PACKETS) - invalid
        if counted not in (0, 1):
            raise Finding("INVALID_PACKETS up by 1 or by 0", f"up by {counted}")
    expect_both_work(bench, source, sink)


NO_FRAMES = (
    malformed("M01", "A datagram of four bytes", "the first four bytes of a DATA frame", lambda stream: stream.data(0, b"")[:4], since=""),
    malformed(
        "M02",
        "A header without the rest of its frame",
        "the first eight bytes of a DATA frame",
        lambda stream: cut(stream.data(0, b""), FrameHeaderDecoder.ENCODED_LENGTH),
    ),
    malformed(
        "M03",
        "A frame of another version than 0",
        "a DATA frame of version 1",
        lambda stream: edited(stream.data(0, b""), version=1),
        since="",
    ),
    malformed(
        "M04", "A frame of negative length", "a DATA frame with frame_length -1", lambda stream: stream.data(0, bytes(32), frame_length=-1)
    ),
    malformed(
        "M05",
        "A control frame that declares more than its datagram holds",
        "a SETUP of 40 bytes with frame_length 72",
        lambda stream: edited(stream.setup(), frame_length=72),
    ),
    malformed("M06", "A frame of an unknown type", "a frame of type 12", lambda stream: edited(stream.data(0, bytes(32)), type=12)),
    malformed(
        "M07", "A frame of the reserved type -1", "a frame of type -1", lambda stream: edited(stream.data(0, bytes(32)), type=FrameType.EXT)
    ),
    malformed(
        "M08",
        "A SETUP of less than 40 bytes",
        "a SETUP of 39 bytes",
        lambda stream: cut(stream.setup(), SetupDecoder.ENCODED_LENGTH - 1),
    ),
    malformed(
        "M09", "A NAK of less than 28 bytes", "a NAK of 27 bytes", lambda stream: cut(stream.nak(0, 32), NakDecoder.ENCODED_LENGTH - 1)
    ),
    malformed(
        "M10",
        "A status message of less than 36 bytes",
        "a status message of 35 bytes",
        lambda stream: cut(status(stream), StatusMessageDecoder.ENCODED_LENGTH - 1),
    ),
    malformed(
        "M11",
        "An ERR of less than 40 bytes",
        "an ERR of 39 bytes",
        lambda stream: cut(stream.error(1, 11, ""), ErrorFrameDecoder.ENCODED_LENGTH - 1),
    ),
    malformed(
        "M12", "An RTTM of less than 40 bytes", "an RTTM of 39 bytes", lambda stream: cut(rttm(stream), RttmDecoder.ENCODED_LENGTH - 1)
    ),
    malformed(
        "M13",
        "A RSP_SETUP of less than 20 bytes",
        "a RSP_SETUP of 19 bytes",
        lambda stream: cut(stream.response_setup(1), ResponseSetupDecoder.ENCODED_LENGTH - 1),
    ),
    malformed(
        "M14",
        "A RES of less than 22 bytes",
        "a RES of 21 bytes",
        lambda _: cut(frames.self_resolution("a name", (LOOPBACK, 1)), 21),
    ),
    malformed(
        "M15",
        "A DATA datagram whose length is no multiple of 32",
        "a DATA datagram of 40 bytes",
        lambda stream: stream.data(0, bytes(8))[: DataHeaderDecoder.ENCODED_LENGTH + 8],
    ),
    malformed("M16", "A DATA datagram of less than 32 bytes", "a DATA datagram of 31 bytes", lambda stream: stream.data(0, b"")[:31]),
    m17,
    malformed(
        "M18",
        "The longest datagram that UDP carries, if its frame is longer still,",
        "65,507 bytes that begin as a SETUP with frame_length 65,600",
        lambda stream: edited(stream.setup().ljust(DATAGRAM_MAX, b"\0"), frame_length=65_600),
    ),
)
CASES: tuple[Case, ...] = (*NO_FRAMES, *malformed_setups.SETUPS, *malformed_hostile.CASES)
