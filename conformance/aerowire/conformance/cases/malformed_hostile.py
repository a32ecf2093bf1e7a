"""Group M: well-formed frames where none belong, floods, noise, and lengths that overflow."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from aerowire.codecs.flyweights.transport import (
    FRAME_ALIGNMENT,
    TERM_LENGTH_MAX,
    DataHeaderEncoder,
    ErrorFrameEncoder,
    FrameHeaderEncoder,
    FrameType,
    SetupEncoder,
)
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.conformance.cases.hostile import VALIDATION, check_alive, edited
from aerowire.conformance.cases.rebuilding import SILENCE_MS, expect_good_data, expect_refused
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, Bench
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.model import Case, Finding, MachineLacks, case

# What a driver counts of frames that it acts on or refuses.
REACTIONS = (
    SystemCounter.INVALID_PACKETS,
    SystemCounter.NAK_MESSAGES_RECEIVED,
    SystemCounter.STATUS_MESSAGES_RECEIVED,
    SystemCounter.STATUS_MESSAGES_REJECTED,
    SystemCounter.HEARTBEATS_RECEIVED,
    SystemCounter.ERROR_FRAMES_RECEIVED,
    SystemCounter.ERRORS,
)
SESSION_LIMIT = 8
FLOOD = 10_000
NOISE = 100_000
NOISE_LENGTH_MAX = 256
# What a driver's caches, stacks and error log may take meanwhile; a leak of one buffer a datagram would take more.
MEMORY_GROWTH_MAX = 64 * 1024 * 1024
# The three terms of an image's log.
LARGEST_LOG = 3 * TERM_LENGTH_MAX
LENGTH_MAX = 2**31 - 1


@case(
    "M27",
    requirement="A good frame that belongs to the other direction is ignored: neither counted as invalid nor acted on.",
    source="Aeron: DataTransportPoller.poll; ControlTransportPoller.poll",
    stimulus="NAK, SM, ERR, RSP_SETUP of a live image to its endpoint; SETUP, DATA, PAD, heartbeat of a publication to its own",
    expected="no reply, none of the counters of such frames moves; both endpoints work afterwards",
)
def m27(bench: Bench) -> None:
    """Wrong direction."""
    source = bench.source(bench.subscribe())
    image = source.start()
    sink = bench.publish()
    before = bench.counts(*REACTIONS)
    mark, sink_mark = source.wire.mark(), sink.wire.mark()
    stream = source.frames
    for frame in (stream.nak(0, FRAME_ALIGNMENT), stream.status(0, source.window, 1), stream.error(1, 11, "no"), stream.response_setup(1)):
        source.send(frame)
    stream = sink.frames
    for frame in (stream.setup(), stream.data(0, b"data"), stream.padding(0, FRAME_ALIGNMENT), stream.heartbeat(0)):
        sink.send(frame)
    # The image's status messages and the publication's SETUPs go on; they answer nothing.
    source.wire.expect_none(lambda frame: not frames.is_plain_status(frame), "reply to a control frame", for_ms=SILENCE_MS, start=mark)
    sink.wire.expect_none(lambda frame: not frames.is_setup(frame), "reply to a data frame", for_ms=SILENCE_MS, start=sink_mark)
    bench.expect_counts_unchanged(before)
    check_equal("publication is connected", sink.publication.log.is_connected, False)
    check_equal("publication errors", len(bench.client.publication_errors), 0)
    expect_good_data(source, image)
    sink.connect()
    check_alive(bench)


@case(
    "M28",
    requirement="SETUPs of more sessions than a stream may have make no more images, and leave the other streams alone.",
    source="Aeron: DataPacketDispatcher.onSetupMessage; StreamInterest.isSessionLimitExceeded; aeron.driver.stream.session.limit",
    stimulus=f"SETUPs of {SESSION_LIMIT} sessions, which the limit allows, then of {FLOOD:,} more",
    expected=f"{SESSION_LIMIT} images, the excess recorded as an error; data of an old image and of another stream delivered",
    options={"driver_stream_session_limit": str(SESSION_LIMIT)},
)
def m28(bench: Bench) -> None:
    """A flood of sessions."""
    other = bench.source(bench.subscribe())
    other_image = other.start()
    source = bench.source(bench.subscribe())
    image = source.start()
    registration_id = source.subscription.registration_id
    setup = source.frames.setup()
    for count in range(2, SESSION_LIMIT + 1):
        source.send(edited(setup, SetupEncoder, session_id=bench.new_id()))
        bench.expect(
            lambda count=count: len(bench.client.images_of(registration_id)) >= count,  # type: ignore[misc]
            f"{count} images",
            within_ms=CONDUCTOR_MS,
        )
    errors = bench.count(SystemCounter.ERRORS)
    for _ in range(FLOOD):
        source.send(edited(setup, SetupEncoder, session_id=bench.new_id()))
    bench.expect(lambda: bench.count(SystemCounter.ERRORS) > errors, "an error recorded of the flood", within_ms=CONDUCTOR_MS)
    bench.pause(SILENCE_MS)
    check_equal("images of the flooded stream", len(bench.client.images_of(registration_id)), SESSION_LIMIT)
    expect_good_data(source, image)
    expect_good_data(other, other_image)
    check_alive(bench)


@case(
    "M29",
    requirement="Noise leaves a driver as it was: alive, with no more memory in use, its streams going on.",
    source="Aeron: UdpChannelTransport.isValidFrame; DataPacketDispatcher; SendChannelEndpoint",
    stimulus=f"{NOISE:,} datagrams of a fixed seed, bytes and headers with bytes behind, to a live image's and a publication's endpoint",
    expected="no reply, BYTES_CURRENTLY_MAPPED no higher, at most 64 MiB of memory more; both endpoints work afterwards",
)
def m29(bench: Bench) -> None:
    """Noise."""
    source = bench.source(bench.subscribe())
    image = source.start()
    sink = bench.publish()
    mapped = bench.count(SystemCounter.BYTES_CURRENTLY_MAPPED)
    invalid = bench.count(SystemCounter.INVALID_PACKETS)
    resident = resident_bytes(bench.client.driver_pid)
    mark, sink_mark = source.wire.mark(), sink.wire.mark()
    for index, datagram in enumerate(noise(random.Random(29))):
        (sink if index % 4 > 1 else source).send(datagram)
    bench.expect(lambda: bench.count(SystemCounter.INVALID_PACKETS) > invalid, "invalid packets counted", within_ms=CONDUCTOR_MS)
    source.wire.expect_none(lambda frame: not frames.is_plain_status(frame), "reply to noise", for_ms=SILENCE_MS, start=mark)
    sink.wire.expect_none(lambda frame: not frames.is_setup(frame), "reply to noise", for_ms=SILENCE_MS, start=sink_mark)
    # Less is no fault: logs of streams that are gone are unmapped in their own time.
    now = bench.count(SystemCounter.BYTES_CURRENTLY_MAPPED)
    if now > mapped:
        raise Finding(f"BYTES_CURRENTLY_MAPPED at most {mapped}", f"it is at {now}")
    grown = resident_bytes(bench.client.driver_pid) - resident
    if grown > MEMORY_GROWTH_MAX:
        raise Finding(f"at most {MEMORY_GROWTH_MAX:,} bytes of memory more", f"{grown:,} bytes more")
    expect_good_data(source, image)
    sink.connect()
    check_alive(bench)


def noise(chance: random.Random) -> Iterator[bytes]:
    """Yield datagrams of random bytes in turn with random bytes behind the header of some type."""
    for index in range(NOISE):
        datagram = chance.randbytes(chance.randrange(FRAME_ALIGNMENT // 2, NOISE_LENGTH_MAX))
        if index % 2:
            datagram = frames.pad(datagram)
            kind = chance.randrange(FrameType.PAD, FrameType.RSP_SETUP + 1)
            datagram = edited(datagram, FrameHeaderEncoder, frame_length=len(datagram), version=0, type=kind)
        yield datagram


def resident_bytes(pid: int) -> int:
    """Return how much memory of its own a process has in use; 0 where the system does not tell."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0
    anonymous = next((line for line in status.read_text().splitlines() if line.startswith("RssAnon:")), "RssAnon: 0")
    return int(anonymous.split()[1]) * 1024


@case(
    "M30",
    requirement="A SETUP whose log does not fit on the driver's file system makes no image; the driver records why and lives on.",
    source="Aeron: FileStoreLogFactory.newImage; FileStoreLogFactory.checkStorage",
    stimulus="a SETUP with terms of 1 GiB, where the driver's directory has less than 3 GiB left",
    expected="no image, an error that speaks of storage, no image lost; data of another stream delivered",
)
def m30(bench: Bench) -> None:
    """Terms too large for the disk."""
    other = bench.source(bench.subscribe())
    other_image = other.start()
    expect_good_data(other, other_image)
    free = shutil.disk_usage(bench.peer.directory).free
    if free >= LARGEST_LOG:
        raise MachineLacks("a driver directory with less than 3 GiB left", f"{free / 2**30:.1f} GiB left in {bench.peer.directory}")
    source = bench.source(bench.subscribe())
    errors = bench.count(SystemCounter.ERRORS)
    texts = set(bench.client.driver_errors())
    source.send(edited(source.frames.setup(), SetupEncoder, term_length=TERM_LENGTH_MAX))
    bench.expect(lambda: bench.count(SystemCounter.ERRORS) > errors, "an error recorded", within_ms=CONDUCTOR_MS)
    gained = [text for text in bench.client.driver_errors() if text not in texts]
    if gained and not any("storage" in text.lower() or "space" in text.lower() for text in gained):
        raise Finding("an error that speaks of storage", gained[0])
    check_equal("images of a SETUP without room", len(source.images()), 0)
    other.send_data(other_image.poller.position, b"more data")
    other.expect_payloads(other_image, [b"more data"])
    check_alive(bench)


@case(
    "M31",
    requirement="An ERR whose text is longer than its frame, longer than 1,023 bytes or of negative length is an invalid packet.",
    source="Aeron: SendChannelEndpoint.onError; ErrorFlyweight.isValid",
    stimulus="ERR with error_length one above the text that is there, -1, and 1,024 with all of the text, to a connected publication",
    expected="INVALID_PACKETS + 1 each, no publication error, still connected; data sent afterwards",
    since=VALIDATION,
)
def m31(bench: Bench) -> None:
    """Lying ERR frames."""
    sink = bench.publish()
    sink.connect()
    invalid = bench.count(SystemCounter.INVALID_PACKETS)
    others = bench.counts(SystemCounter.ERROR_FRAMES_RECEIVED)
    text = "hostile"
    good = sink.frames.error(sink.receiver_id, ErrorCode.GENERIC_ERROR, text)
    long = sink.frames.error(sink.receiver_id, ErrorCode.GENERIC_ERROR, "x" * 1024)
    datagrams = (*(edited(good, ErrorFrameEncoder, error_length=length) for length in (len(text) + 1, -1)), long)
    for index, datagram in enumerate(datagrams):
        sink.send(datagram)
        bench.expect_count(SystemCounter.INVALID_PACKETS, invalid + index + 1)
    bench.pause(SILENCE_MS)
    bench.expect_counts_unchanged(others)
    check_equal("publication errors", len(bench.client.publication_errors), 0)
    check_equal("publication is connected", sink.publication.log.is_connected, True)
    sink.publish([b"sent afterwards"])
    check_alive(bench)


@case(
    "M32",
    requirement="A DATA frame that declares the greatest length there is is an invalid packet and is not inserted.",
    source="Aeron: PublicationImage.validatePacket",
    stimulus="a 64-byte datagram whose DATA frame declares 2^31 - 1 bytes, to a live image",
    expected="INVALID_PACKETS + 1, rcv-hwm unmoved; good data is delivered afterwards",
    since=VALIDATION,
)
def m32(bench: Bench) -> None:
    """The greatest length."""
    source = bench.source(bench.subscribe())
    image = source.start()
    expect_refused(bench, source, image, SystemCounter.INVALID_PACKETS, source.frames.data(0, bytes(32), frame_length=LENGTH_MAX))


@case(
    "M33",
    requirement="When the length of a later frame overflows as it is aligned or added, the whole datagram is an invalid packet.",
    source="Aeron: PublicationImage.validatePacket",
    stimulus="two DATA frames in a datagram, the second one declaring 2^31 - 1, 2^31 - 32 and 2^31 - 64 bytes in turn",
    expected="INVALID_PACKETS + 1 each, neither frame delivered; good data is delivered afterwards",
    since=VALIDATION,
)
def m33(bench: Bench) -> None:
    """Lengths that overflow."""
    source = bench.source(bench.subscribe())
    image = source.start()
    first = source.frames.data(0, bytes(32))
    lengths = (LENGTH_MAX, LENGTH_MAX + 1 - FRAME_ALIGNMENT, LENGTH_MAX + 1 - 2 * FRAME_ALIGNMENT)
    seconds = [edited(source.frames.data(len(first), b"second"), DataHeaderEncoder, frame_length=length) for length in lengths]
    expect_refused(bench, source, image, SystemCounter.INVALID_PACKETS, *(first + second for second in seconds))


CASES: tuple[Case, ...] = (m27, m28, m29, m30, m31, m32, m33)
