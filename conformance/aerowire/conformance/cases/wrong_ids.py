"""Group N: wrong ids, out of the window."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import RttmFlags
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.conformance.cases.published import FRAME, Published
from aerowire.conformance.cases.rebuilding import SILENCE_MS, expect_refused
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, TERM_LENGTH, TIMER_TOLERANCE_MS, Bench, Source
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.client import CommandRefused
from aerowire.conformance.harness.frames import DEFAULT_MTU, StreamFrames
from aerowire.conformance.model import Case, Finding, case

STRANGE_SETUPS = 3
ECHO_NS = 1_234_567_890
REASON = "the image is not wanted"


def stranger(own: StreamFrames, *, session_id: int | None = None, stream_id: int | None = None) -> StreamFrames:
    """Return frames like those of a stream, but for one of its ids."""
    return StreamFrames(
        own.session_id if session_id is None else session_id,
        own.stream_id if stream_id is None else stream_id,
        initial_term_id=own.initial_term_id,
        term_length=own.term_length,
        mtu=own.mtu,
    )


def expect_heard_by_publication(bench: Bench, *, session: int, stream: int) -> None:
    """Send a publication every control frame with other ids, then with its own: only these may have an effect."""
    # A session id of its own: where the sign bit of a session is set, the C driver does not look at the stream.
    published = Published(bench, bench.publish(f"session-id={bench.new_id()}"))
    sink, position = published.sink, published.sink.publication.position

    def snd_lmt() -> int:
        return sink.counter(CounterType.SND_LMT)

    limit = snd_lmt()
    own = sink.frames
    other = stranger(own, session_id=own.session_id ^ session, stream_id=own.stream_id ^ stream)
    silent = bench.counts(SystemCounter.INVALID_PACKETS, SystemCounter.STATUS_MESSAGES_REJECTED, SystemCounter.RETRANSMITS_SENT)
    heard = bench.counts(SystemCounter.STATUS_MESSAGES_RECEIVED, SystemCounter.ERROR_FRAMES_RECEIVED)
    mark = sink.wire.mark()
    sink.send(other.nak(0, FRAME))
    sink.send(other.status(position, sink.window, sink.receiver_id))
    sink.send(other.rttm(ECHO_NS, receiver_id=sink.receiver_id, flags=RttmFlags.REPLY))
    sink.send(other.error(sink.receiver_id, ErrorCode.IMAGE_REJECTED, REASON))
    for counter, before in heard.items():
        bench.expect_count(counter, before + 1)
    bench.pause(SILENCE_MS)
    check_equal("snd-lmt after a stranger's status message", snd_lmt(), limit)
    check_equal("errors announced for a stranger's ERR", len(bench.client.publication_errors), 0)
    check_equal("is_connected after a stranger's ERR", sink.publication.log.is_connected, True)
    bench.expect_counts_unchanged(silent)
    sink.wire.expect_none(lambda frame: not frames.is_heartbeat(frame), "answer to a stranger", for_ms=0.0, start=mark)
    mark = sink.wire.mark()
    sink.send(own.rttm(ECHO_NS, receiver_id=sink.receiver_id, flags=RttmFlags.REPLY))
    sink.wire.expect(frames.is_rttm, "an answer to the stream's own RTTM", within_ms=CONDUCTOR_MS, start=mark)
    published.nak(0)
    published.expect_resent(0, within_ms=CONDUCTOR_MS)
    sink.send_status(position)
    bench.expect(
        lambda: snd_lmt() == position + sink.window, "snd-lmt moved by its own status message", within_ms=CONDUCTOR_MS, actual=snd_lmt
    )
    sink.send(own.error(sink.receiver_id, ErrorCode.IMAGE_REJECTED, REASON))
    bench.expect(lambda: len(bench.client.publication_errors) == 1, "its own ERR announced", within_ms=CONDUCTOR_MS)


def expect_heard_by_image(bench: Bench, *, session: int, stream: int) -> None:
    """Send an image's endpoint a request for RTTM with other ids, then with its own: only that may be answered."""
    source = bench.source(bench.subscribe())
    source.start()
    own = source.frames
    mark = source.wire.mark()
    source.send(
        stranger(own, session_id=own.session_id ^ session, stream_id=own.stream_id ^ stream).rttm(
            ECHO_NS, receiver_id=0, flags=RttmFlags.REPLY
        )
    )
    source.wire.expect_none(frames.is_rttm, "answer to a stranger's RTTM", for_ms=SILENCE_MS, start=mark)
    source.send(own.rttm(ECHO_NS, receiver_id=0, flags=RttmFlags.REPLY))
    answer = source.wire.expect(frames.is_rttm, "an answer to the image's own RTTM", within_ms=CONDUCTOR_MS, start=mark)
    check_equal("session_id of the answer", answer.first.session_id, own.session_id)
    check_equal("stream_id of the answer", answer.first.stream_id, own.stream_id)


@case(
    "N01",
    requirement="Control frames for a session that is not at the endpoint are ignored; they are no invalid packets.",
    source="Aeron: SendChannelEndpoint.onNakMessage, onStatusMessage, onRttMeasurement, onError; DataPacketDispatcher.onRttMeasurement",
    stimulus="NAK, SM, RTTM and ERR of another session to a publication, RTTM of another session to an image; then their own",
    expected="nothing sent again, no answer, snd-lmt and INVALID_PACKETS unmoved, no error announced; their own have their effect",
)
def n01(bench: Bench) -> None:
    """Another session."""
    expect_heard_by_publication(bench, session=1, stream=0)
    expect_heard_by_image(bench, session=1, stream=0)


@case(
    "N02",
    requirement="Control frames for a stream that is not at the endpoint are ignored; they are no invalid packets.",
    source="Aeron: SendChannelEndpoint.onNakMessage, onStatusMessage, onRttMeasurement, onError; DataPacketDispatcher.onRttMeasurement",
    stimulus="NAK, SM, RTTM and ERR of another stream to a publication, RTTM of another stream to an image; then their own",
    expected="nothing sent again, no answer, snd-lmt and INVALID_PACKETS unmoved, no error announced; their own have their effect",
)
def n02(bench: Bench) -> None:
    """Another stream."""
    expect_heard_by_publication(bench, session=0, stream=1)
    expect_heard_by_image(bench, session=0, stream=1)


@case(
    "N03",
    requirement="A status message of a term far ahead is rejected and counted, wherever the term id wraps to.",
    source="Aeron: NetworkPublication.isValidStatusMessage",
    stimulus="status messages of terms 2, 1000, 2^30 and 2^31 - 1 ahead, and of the term before the first; then one of the current term",
    expected="STATUS_MESSAGES_REJECTED + 1 each, no connection, snd-lmt unmoved; the last connects",
)
def n03(bench: Bench) -> None:
    """Status messages of far terms."""
    sink = bench.publish()
    sink.wire.expect(frames.is_setup, "a SETUP", within_ms=CONDUCTOR_MS)
    rejected = bench.count(SystemCounter.STATUS_MESSAGES_REJECTED)
    invalid = bench.counts(SystemCounter.INVALID_PACKETS)
    terms = (2, 1000, 2**30, 2**31 - 1, -1)
    for index, term in enumerate(terms):
        sink.send_status(term * TERM_LENGTH)
        bench.expect_count(SystemCounter.STATUS_MESSAGES_REJECTED, rejected + index + 1)
    bench.pause(SILENCE_MS)
    check_equal("is_connected after the rejected status messages", sink.publication.log.is_connected, False)
    check_equal("snd-lmt after the rejected status messages", sink.counter(CounterType.SND_LMT), 0)
    sink.connect()
    bench.expect_count(SystemCounter.STATUS_MESSAGES_REJECTED, rejected + len(terms))
    bench.expect_counts_unchanged(invalid)


@case(
    "N04",
    requirement="A NAK of a term whose buffer holds another term by now brings nothing.",
    source="Aeron: NetworkPublication.resend",
    stimulus="NAKs of the terms three before and three behind the current one, which share its buffer; then one of the current term",
    expected="both are counted as received and bring nothing; the third brings the frame",
)
def n04(bench: Bench) -> None:
    """NAKs of other terms in the same buffer."""
    first = bench.random.randrange(-(2**31), 2**31 - 10)
    published = Published(bench, bench.publish(f"init-term-id={first}|term-id={first + 3}|term-offset=0"))
    heard = bench.count(SystemCounter.NAK_MESSAGES_RECEIVED)
    silent = bench.counts(SystemCounter.INVALID_PACKETS, SystemCounter.RETRANSMITS_SENT)
    sink, begin = published.sink, published.sink.publication.start_position
    for index, position in enumerate((begin - 3 * TERM_LENGTH, begin + 3 * TERM_LENGTH)):
        sink.send(sink.frames.nak(position, FRAME))
        bench.expect_count(SystemCounter.NAK_MESSAGES_RECEIVED, heard + index + 1)
    sink.wire.expect_none(frames.is_data, "data for a NAK of another term", for_ms=SILENCE_MS, start=published.mark)
    bench.expect_counts_unchanged(silent)
    # What those NAKs may have begun lingers no longer.
    bench.pause(2 * bench.option_ns("retransmit_unicast_linger_ns") / 1e6)
    sink.send(sink.frames.nak(begin, FRAME))
    published.expect_resent(0, within_ms=CONDUCTOR_MS)


@case(
    "N05",
    requirement="Data of a term ahead of the receiver's window is dropped and counted, also where its buffer is the current term's.",
    source="Aeron: PublicationImage.isFlowControlOverRun",
    stimulus="DATA of the terms 1, 2, 3 and 1000 ahead; then data of the current term",
    expected="FLOW_CONTROL_OVER_RUNS + 1 each, rcv-hwm unmoved, nothing delivered; the last is delivered",
)
def n05(bench: Bench) -> None:
    """Data of terms ahead."""
    source = bench.source(bench.subscribe())
    image = source.start()
    datagrams = (source.frames.data(term * TERM_LENGTH, b"from the future") for term in (1, 2, 3, 1000))
    expect_refused(bench, source, image, SystemCounter.FLOW_CONTROL_OVER_RUNS, *datagrams)


def expect_setup_ignored(bench: Bench, source: Source, *others: StreamFrames) -> None:
    """Send SETUPs that contradict a live image's own, often; the image must go on as it was."""
    image = source.start()
    first = bench.random.randbytes(100)
    end = source.send_data(0, first)
    source.expect_payloads(image, [first])
    invalid = bench.counts(SystemCounter.INVALID_PACKETS)
    mark = source.wire.mark()
    for _ in range(STRANGE_SETUPS):
        for other in others:
            source.send(other.setup())
    within_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6 + TIMER_TOLERANCE_MS
    status = source.wire.expect(frames.is_plain_status, "a status message of the live image", within_ms=within_ms, start=mark).first
    check_equal("consumption_term_id after the other SETUP", status.consumption_term_id, source.frames.initial_term_id)
    check_equal("receiver_window after the other SETUP", status.receiver_window, source.window)
    source.wire.expect_none(frames.is_elicit, "request for a SETUP", for_ms=0.0, start=mark)
    check_equal("images of the session", len(source.images()), 1)
    check_equal("images that went", len(bench.client.unavailable), 0)
    second = bench.random.randbytes(100)
    source.send_data(end, second)
    source.expect_payloads(image, [second])
    bench.expect_counts_unchanged(invalid)


def like(source: Source, **changes: int) -> StreamFrames:
    """Return frames of the source's session with another geometry."""
    own = source.frames
    geometry = {"initial_term_id": own.initial_term_id, "term_length": own.term_length, "mtu": own.mtu, **changes}
    return StreamFrames(own.session_id, own.stream_id, **geometry)


@case(
    "N06",
    requirement="A SETUP with another initial term id does not disturb the live image of its session.",
    source="Aeron: DataPacketDispatcher.onSetupMessage",
    stimulus="an image that data was delivered to; SETUPs of its session with an initial term id one more and 1000 less; more data",
    expected="no second image and no lost one, no request for a SETUP, status messages of the old term, the data delivered",
)
def n06(bench: Bench) -> None:
    """Another initial term."""
    source = bench.source(bench.subscribe(), initial_term_id=bench.random.randrange(-(2**30), 2**30))
    first = source.frames.initial_term_id
    expect_setup_ignored(bench, source, *(like(source, initial_term_id=other) for other in (first + 1, first - 1000)))


@case(
    "N07",
    requirement="A SETUP with another term length or MTU does not disturb the live image of its session.",
    source="Aeron: DataPacketDispatcher.onSetupMessage",
    stimulus="an image that data was delivered to; SETUPs of its session with a longer term, a smaller and a larger MTU; more data",
    expected="no second image and no lost one, no request for a SETUP, status messages with the old window, the data delivered",
)
def n07(bench: Bench) -> None:
    """Another geometry."""
    source = bench.source(bench.subscribe())
    others = (like(source, term_length=2 * TERM_LENGTH), like(source, mtu=DEFAULT_MTU // 2), like(source, mtu=4 * DEFAULT_MTU))
    expect_setup_ignored(bench, source, *others)


@case(
    "N08",
    requirement="A second publication of the same session, stream and channel is refused, and the first one goes on.",
    source="Aeron: DriverConductor.checkForSessionClash",
    stimulus="an exclusive publication with session-id; the same again; the same with another session-id",
    expected="error 1 (INVALID_CHANNEL) for the second; the third is added; the first connects",
)
def n08(bench: Bench) -> None:
    """Session ids that clash."""
    session_id = bench.new_id()
    sink = bench.publish(f"session-id={session_id}")
    channel = f"aeron:udp?endpoint={sink.wire.authority}|term-length={TERM_LENGTH}|session-id="
    what = "a second publication of the session to be refused with error 1"
    try:
        bench.client.add_publication(f"{channel}{session_id}", sink.publication.stream_id)
    except CommandRefused as refusal:
        if refusal.code != ErrorCode.INVALID_CHANNEL:
            raise Finding(what, refusal.actual) from None
    else:
        raise Finding(what, "it was added")
    other = bench.client.add_publication(f"{channel}{session_id ^ 1}", sink.publication.stream_id)
    check_equal("session_id of the third publication", other.session_id, session_id ^ 1)
    sink.wire.expect(lambda frame: frame.session_id == session_id, "a frame of the first publication", within_ms=CONDUCTOR_MS)
    sink.connect()


CASES: tuple[Case, ...] = (n01, n02, n03, n04, n05, n06, n07, n08)
