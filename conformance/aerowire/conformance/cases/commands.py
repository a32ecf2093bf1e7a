"""Group W: commands that ask for what is not there or not allowed, session ids, counters, the driver's file and its end, spies."""

from __future__ import annotations

import time

from aerowire.codecs.flyweights.cnc import CNC_VERSION, BroadcastTrailerDecoder, CncHeaderDecoder, RingTrailerDecoder
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.transport import PAGE_SIZE_MIN
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.codecs.tables.options import OPTIONS
from aerowire.conformance.cases.options import BESIDE_ANOTHER, FEW_SESSION_IDS, TERMINATION_ALLOWED
from aerowire.conformance.cases.own import own_driver
from aerowire.conformance.cases.refusals import expect_refusal
from aerowire.conformance.harness.bench import CONDUCTOR_MS, TERM_LENGTH, Bench, Sink
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.client import Client, Image
from aerowire.conformance.harness.cnc import CNC_FILE, CncFile
from aerowire.conformance.harness.counters import METADATA_LENGTH, VALUE_LENGTH
from aerowire.conformance.harness.ring import align
from aerowire.conformance.model import Finding, NotSupported, case
from aerowire.conformance.peers.base import PeerError

# A registration id that no driver reaches.
NOBODYS = 2**62
# Shorter than the two ids with which every command begins.
SHORT_LENGTH = 12
COMMANDS = [kind for kind in CommandType if kind < CommandType.ON_ERROR]
# Counter types from here on are the users'.
USER_TYPE = 10_001
SESSIONS_ASKED = 24
# What the driver does with a command that it answers by nothing.
SILENCE_MS = 300.0
# A driver's end, and a start that fails.
END_MS = 3000.0
REFUSED_MS = 8000.0
HEARTBEAT_MS = 1000.0
MESSAGE = b"seen by a spy"


@case(
    "W07",
    requirement="A command that removes what nobody registered is refused with the code of its kind.",
    source="Aeron: DriverConductor.onRemovePublication, onRemoveSubscription, onRemoveCounter",
    stimulus="removal of a publication, a subscription and a counter that never were, and of a publication that was removed before",
    expected="errors 3, 2, 5 and 3; a counter that is there is removed",
)
def w07(bench: Bench) -> None:
    """Nothing to remove."""
    for kind, code in (
        (CommandType.REMOVE_PUBLICATION, ErrorCode.UNKNOWN_PUBLICATION),
        (CommandType.REMOVE_SUBSCRIPTION, ErrorCode.UNKNOWN_SUBSCRIPTION),
        (CommandType.REMOVE_COUNTER, ErrorCode.UNKNOWN_COUNTER),
    ):
        expect_refusal(lambda kind=kind: bench.client.remove_unchecked(kind, NOBODYS), f"{kind.name} of nothing", code)  # type: ignore[misc]
    publication = bench.publish().publication
    bench.client.remove_publication(publication)
    expect_refusal(lambda: bench.client.remove_publication(publication), "a second removal", ErrorCode.UNKNOWN_PUBLICATION)
    counter_id, _ = bench.client.add_counter(USER_TYPE, "to be removed")
    bench.client.remove_unchecked(CommandType.REMOVE_COUNTER, counter_id)


@case(
    "W08",
    requirement="A command that is too short for its kind is an error in the log, answered by code 7 or not at all.",
    source="Aeron: ClientCommandAdapter.onMessage; CorrelatedMessageFlyweight.validateLength; aeron_driver_conductor_on_command",
    stimulus=f"each kind of command in {SHORT_LENGTH} bytes",
    expected="ERRORS counts each; no answer but ON_ERROR with code 7 (for REMOVE_PUBLICATION 3, as Java has it); a good one behind each "
    "is answered",
)
def w08(bench: Bench) -> None:
    """Commands cut short."""
    for kind in COMMANDS:
        before = bench.count(SystemCounter.ERRORS)
        answers = len(bench.client.refusals)
        bench.client.send_raw(kind, bytes(SHORT_LENGTH))
        bench.expect(
            lambda before=before: bench.count(SystemCounter.ERRORS) > before,  # type: ignore[misc]
            f"an error for a short {kind.name}",
            within_ms=CONDUCTOR_MS,
            actual=lambda before=before: f"ERRORS is at {bench.count(SystemCounter.ERRORS) - before} more",  # type: ignore[misc]
        )
        # Java counts an error before it answers: an answer that comes late must not count against the next kind.
        bench.client.add_counter(USER_TYPE, f"behind a short {kind.name}")
        # The Java driver takes a short removal for one of a publication that it does not know.
        known = {ErrorCode.MALFORMED_COMMAND} | ({ErrorCode.UNKNOWN_PUBLICATION} if kind == CommandType.REMOVE_PUBLICATION else set())
        for code in bench.client.refusals[answers:]:
            if code not in known:
                raise Finding(f"code 7 for a short {kind.name}", f"code {code}")


@case(
    "W09",
    requirement="The session ids that a driver gives out lie outside the reserved range, and no publication of the stream has them.",
    source="Aeron: DriverConductor.onNextAvailableSessionId, advanceSessionId; aeron.publication.reserved.session.id.low and high",
    stimulus=f"a driver with half of all session ids reserved; {SESSIONS_ASKED} questions for a session id, and publications that take "
    "the ids next to the first answers",
    expected="answers outside the range, each another, none of a publication; a publication without session-id has one like them",
    options=FEW_SESSION_IDS,
)
def w09(bench: Bench) -> None:
    """Session ids that are free."""
    low, high = bench.option_int("publication_reserved_session_id_low"), bench.option_int("publication_reserved_session_id_high")
    stream_id, wire = bench.new_id(), bench.wire()
    channel = f"aeron:udp?endpoint={wire.authority}|term-length={TERM_LENGTH}"
    taken: set[int] = set()
    given: list[int] = []
    for _ in range(SESSIONS_ASKED):
        session_id = bench.client.next_session_id(stream_id)
        if low <= session_id <= high:
            raise Finding(f"a session id outside {low} to {high}", f"{session_id}")
        if session_id in taken or session_id in given:
            raise Finding("a session id that is free", f"{session_id}, which was given or taken before")
        given.append(session_id)
        if len(taken) < 3:
            # Official drivers count upwards.
            neighbour = session_id + 2 if session_id < 2**31 - 3 else -(2**31)
            bench.client.add_publication(f"{channel}|session-id={neighbour}", stream_id)
            taken.add(neighbour)
    own = bench.client.add_publication(channel, stream_id).session_id
    if low <= own <= high or own in taken:
        raise Finding(f"a publication with a free session id outside {low} to {high}", f"it has {own}")


@case(
    "W10",
    requirement="A static counter is made once for its type and registration id, and outlives the client that asked for it.",
    source="Aeron: DriverConductor.onAddStaticCounter; CountersReader.getCounterOwnerId",
    stimulus="a static counter asked for by one client, which leaves, then by another with another label; then one with the type and "
    "registration id of a counter that a client owns",
    expected="the same counter with its first label, owner -1 and that registration id; error 11 for the last",
)
def w10(bench: Bench) -> None:
    """Counters of nobody."""
    registration_id = bench.new_id()
    first = Client(bench.peer.directory)
    try:
        counter_id = first.add_static_counter(USER_TYPE, registration_id, "made once", b"key")
        bench.client.counters.set_value(counter_id, 42)
    finally:
        first.close()
    bench.expect(
        lambda: first.id in bench.client.gone_counters,
        "the first client's end",
        within_ms=CONDUCTOR_MS + 3 * bench.option_ns("timer_interval_ns") / 1e6,
    )
    check_equal("id of the counter", bench.client.add_static_counter(USER_TYPE, registration_id, "asked again"), counter_id)
    found = bench.client.counters.describe(counter_id)
    check_equal("type, label", (found.type_id, found.label), (USER_TYPE, "made once"))
    check_equal("key", found.key[:4], b"key\0")
    check_equal("owner and registration", (found.owner_id, found.registration_id), (-1, registration_id))
    check_equal("value", bench.client.counters.value(counter_id), 42)
    owned_id, _ = bench.client.add_counter(USER_TYPE, "owned")
    expect_refusal(
        lambda: bench.client.add_static_counter(USER_TYPE, owned_id, "of somebody"),
        "a static counter in place of one with an owner",
        ErrorCode.GENERIC_ERROR,
    )


@case(
    "W11",
    requirement="A client may end the driver only where the driver was told to let it.",
    source="Aeron: DriverConductor.onTerminateDriver; aeron.driver.termination.validator",
    stimulus="TERMINATE_DRIVER with a token, to the driver as it is and to one whose validator allows it",
    expected="the first goes on; the second ends, with a last sign of life of -1",
    bound="3 s",
)
def w11(bench: Bench) -> None:
    """A client that ends the driver."""
    bench.client.terminate(b"please")
    bench.pause(SILENCE_MS)
    if not bench.peer.is_alive() or not bench.client.is_driver_alive():
        raise Finding("a driver that goes on", "it ended")
    bench.client.add_counter(USER_TYPE, "behind a termination")
    with own_driver(bench, TERMINATION_ALLOWED) as twin:
        client = Client(twin.directory)
        try:
            client.terminate(b"please")
            bench.expect(lambda: not client.is_driver_alive(), "a last sign of life of -1", within_ms=END_MS, actual=lambda: "it lives")
            bench.expect(lambda: not twin.is_alive(), "the driver to end", within_ms=END_MS, actual=lambda: "it runs")
        finally:
            client.close()


@case(
    "W12",
    requirement="The driver's file says its version, process, start and the lengths of its buffers, which lie behind the header in order.",
    source="Aeron: CncFileDescriptor.fillMetaData, computeCncFileLength; MediaDriver.Context.concludeNullProperties",
    stimulus="the header of cnc.dat, and its buffers in use: a command, its answer, a counter and the sign of life",
    expected="version 0.2.x, the driver's process, a start in the past, powers of two and trailers, metadata four times as long as values, "
    "a length in whole pages; a counter's value and record with one id",
)
def w12(bench: Bench) -> None:
    """The driver's file."""
    cnc = CncFile(bench.peer.directory)
    try:
        header = cnc.header()
        check_equal("major and minor version", header.version >> 8, CNC_VERSION >> 8)
        check_ring("to-driver buffer", header.to_driver_buffer_length - RingTrailerDecoder.ENCODED_LENGTH)
        check_ring("to-clients buffer", header.to_clients_buffer_length - BroadcastTrailerDecoder.ENCODED_LENGTH)
        values = header.counters_values_buffer_length
        check_equal("length of counter records", header.counters_metadata_buffer_length, values * METADATA_LENGTH // VALUE_LENGTH)
        check_equal("client liveness timeout", header.client_liveness_timeout_ns, bench.option_ns("client_liveness_timeout_ns"))
        page = header.file_page_size
        if page < PAGE_SIZE_MIN or page & (page - 1):
            raise Finding(f"a page size of a power of two from {PAGE_SIZE_MIN}", f"{page}")
        length = align(CncHeaderDecoder.ENCODED_LENGTH + sum(lengths_of(header)), page)
        check_equal("length of the file", cnc.path.stat().st_size, length)
        if bench.peer.pid is not None:
            check_equal("process of the driver", header.pid, bench.peer.pid)
        elif header.pid <= 0:
            raise Finding("process of the driver > 0", f"{header.pid}")
        now_ms = time.time_ns() // 1_000_000
        if not 0 < header.start_timestamp_ms <= now_ms:
            raise Finding(f"a start before {now_ms}", f"{header.start_timestamp_ms}")
        bench.expect(
            lambda: cnc.is_alive(int(HEARTBEAT_MS) + 100),
            "a sign of life each second",
            within_ms=CONDUCTOR_MS,
            actual=lambda: cnc.heartbeat_ms,
        )
    finally:
        cnc.close()
    registration_id, counter_id = bench.client.add_counter(USER_TYPE, "in the file", b"\1\2\3")
    found = bench.client.counters.describe(counter_id)
    check_equal("registration and owner", (found.registration_id, found.owner_id), (registration_id, bench.client.id))
    check_equal("label and key", (found.label, found.key[:4]), ("in the file", b"\1\2\3\0"))


def check_ring(what: str, capacity: int) -> None:
    """Check that a buffer without its trailer is a power of two."""
    if capacity <= 0 or capacity & (capacity - 1):
        raise Finding(f"a {what} of a power of two and its trailer", f"{capacity} bytes without the trailer")


def lengths_of(header: CncHeaderDecoder) -> tuple[int, ...]:
    """Return the lengths of the buffers in the order in which they lie in the file."""
    return (
        header.to_driver_buffer_length,
        header.to_clients_buffer_length,
        header.counters_metadata_buffer_length,
        header.counters_values_buffer_length,
        header.error_log_buffer_length,
    )


@case(
    "W13",
    requirement="A second driver on the directory of one that lives refuses to start, and the first goes on.",
    source="Aeron: MediaDriver.ensureDirectoryIsRecreated; CommonContext.isDriverActive; ActiveDriverException",
    stimulus="a second driver of the same kind on the same directory, with dir.delete.on.start=false and dir.delete.on.shutdown=true",
    expected="it ends by itself; the first driver answers, in its file as before; with a directory of its own such a driver starts",
    bound="8 s",
)
def w13(bench: Bench) -> None:
    """Two drivers, one directory."""
    try:
        rival = bench.peer.rival({OPTIONS[name].property: value for name, value in BESIDE_ANOTHER.items()})
    except PeerError as error:
        raise NotSupported("a second driver on the same directory", str(error)) from None
    try:
        bench.expect(lambda: not rival.is_alive(), "the second driver to end", within_ms=REFUSED_MS, actual=lambda: "it runs")
    finally:
        rival.stop()
    if not bench.peer.is_alive() or not (bench.peer.directory / CNC_FILE).exists():
        raise Finding("the first driver and its file as before", "they are gone")
    bench.client.add_counter(USER_TYPE, "beside a second driver")
    # It was the directory that kept the second one from starting.
    with own_driver(bench, BESIDE_ANOTHER) as twin:
        Client(twin.directory).close()


@case(
    "W14",
    requirement="A spy sees the stream of a publication that has its channel or its tag; a publication with ssc=true needs no other "
    "receiver.",
    source="Aeron: SpySubscriptionLink.matches; NetworkPublication.hasSpies, spiesSimulateConnection; aeron:udp tags and ssc",
    stimulus="publications with tags, with ssc=true and without; spies by endpoint, by tag, by another session and of another endpoint",
    expected="images with the message for the first two, none for the others; connected with ssc=true only",
)
def w14(bench: Bench) -> None:
    """Spies."""
    tag = bench.new_id()
    sink = bench.publish(f"tags={tag}|ssc=true")
    channel = f"aeron-spy:aeron:udp?endpoint={sink.wire.authority}"
    spies = [spy(bench, sink, channel), spy(bench, sink, f"aeron-spy:aeron:udp?tags={tag}")]
    strangers = [
        bench.client.add_subscription(f"{channel}|session-id={sink.publication.session_id ^ 1}", sink.publication.stream_id),
        bench.client.add_subscription(f"aeron-spy:aeron:udp?endpoint={bench.wire().authority}", sink.publication.stream_id),
    ]
    bench.expect(sink.is_connected, "a connection by spies", within_ms=CONDUCTOR_MS, actual=lambda: "there is none")
    sink.publication.append(MESSAGE)
    for image in spies:
        got: list[bytes] = []

        def advance(image: Image = image, got: list[bytes] = got) -> bool:
            got.extend(fragment.payload for fragment in image.consume())
            return bool(got)

        bench.wait_until(advance, CONDUCTOR_MS)
        check_equal("messages of a spy", got, [MESSAGE])
    for subscription_id in strangers:
        check_equal("images of a spy on something else", len(bench.client.images_of(subscription_id)), 0)
    other = bench.publish()
    spy(bench, other, f"aeron-spy:aeron:udp?endpoint={other.wire.authority}")
    bench.pause(SILENCE_MS)
    check_equal("connected by a spy without ssc", other.publication.log.is_connected, False)


def spy(bench: Bench, sink: Sink, channel: str) -> Image:
    """Subscribe to a publication of the same driver; return the spy's image."""
    subscription_id = bench.client.add_subscription(channel, sink.publication.stream_id)
    bench.expect(
        lambda: bool(bench.client.images_of(subscription_id)),
        f"an image of a spy on {channel.rpartition('?')[2].partition('=')[0]}",
        within_ms=CONDUCTOR_MS,
        actual=lambda: "no image",
    )
    image = bench.client.images_of(subscription_id)[0]
    check_equal("session of the spy's image", image.session_id, sink.publication.session_id)
    return image
