"""Group L: what becomes of a client's publications when the client goes, in peace or not; and the end of a driver."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.cnc import CONSUMER_HEARTBEAT_CLOSED
from aerowire.codecs.flyweights.transport import DataFlags, FrameType
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.cases.liveness_publications import timers_ms
from aerowire.conformance.cases.options import SHORT_LIVES
from aerowire.conformance.cases.own import own_driver
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, TERM_LENGTH, TIMER_TOLERANCE_MS, Bench, Sink
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.client import HEARTBEAT_PERIOD_S, Client
from aerowire.conformance.harness.cnc import CncFile
from aerowire.conformance.model import Finding, case

if TYPE_CHECKING:
    from scapy.packet import Packet

CLAIMED_LENGTH = 128
# A clean end takes a moment more where a machine has to be shut down with it.
END_MS = 3000.0


@contextmanager
def another_client(bench: Bench) -> Iterator[tuple[Client, Sink]]:
    """Give a second client with a connected publication of its own that has sent a message."""
    client = Client(bench.peer.directory)
    try:
        wire = bench.wire()
        added_ns = time.monotonic_ns()
        channel = f"aeron:udp?endpoint={wire.authority}|term-length={TERM_LENGTH}"
        sink = Sink(bench, wire, client.add_publication(channel, bench.new_id()), added_ns)
        sink.connect()
        sink.publish([b"the only message"])
        sink.send_status(sink.publication.position)
        yield client, sink
    finally:
        client.close()


def is_end(frame: Packet) -> bool:
    """Say whether a frame is a heartbeat at the end of a stream."""
    return frames.is_heartbeat(frame) and bool(int(frame.flags) & DataFlags.EOS)


def expect_dead(bench: Bench, client: Client) -> None:
    """Wait until the driver declares a client dead that has just fallen silent; check that it is not too early."""
    silent_ns = time.monotonic_ns()
    lives_ms = bench.option_ns("client_liveness_timeout_ns") / 1e6
    bench.expect(
        lambda: client.id in bench.client.dead_clients,
        "the silent client declared dead",
        within_ms=lives_ms + timers_ms(bench),
        actual=lambda: "it is not",
    )
    lived_ms = (time.monotonic_ns() - silent_ns) / 1e6
    if lived_ms < lives_ms - HEARTBEAT_PERIOD_S * 1e3 - TIMER_TOLERANCE_MS:
        raise Finding(f"a client that lives for {lives_ms:g} ms", f"it was declared dead after {lived_ms:.0f} ms")


@case(
    "L14",
    requirement="A client that gives no more signs of life is declared dead after its liveness timeout, and its publications end.",
    source="Aeron: AeronClient.onTimeEvent; ClientProxy.onClientTimeout; aeron.client.liveness.timeout",
    stimulus="a second client with a connected publication, whose heartbeat counter then stands still",
    expected="ON_CLIENT_TIMEOUT to all clients, CLIENT_TIMEOUTS + 1, heartbeats with flag 0x20",
    bound="the liveness timeout, three timer intervals + 200 ms",
    options=SHORT_LIVES,
)
def l14(bench: Bench) -> None:
    """A dead client."""
    timeouts = bench.count(SystemCounter.CLIENT_TIMEOUTS)
    with another_client(bench) as (client, sink):
        mark = sink.wire.mark()
        client.fall_silent()
        expect_dead(bench, client)
        bench.expect_count(SystemCounter.CLIENT_TIMEOUTS, timeouts + 1)
        sink.wire.expect(is_end, "a heartbeat with flag 0x20", within_ms=timers_ms(bench), start=mark)


@case(
    "L15",
    requirement="A client that takes its leave has its publications ended and its counters freed.",
    source="Aeron: DriverConductor.onClientClose; AeronClient.onClosedByCommand; ClientProxy.onUnavailableCounter",
    stimulus="CLIENT_CLOSE from a second client with a connected publication",
    expected="heartbeats with flag 0x20; ON_UNAVAILABLE_COUNTER of the client's heartbeat; then the publication's counters freed",
    bound="three timer intervals + 200 ms, and the linger",
)
def l15(bench: Bench) -> None:
    """A client that closes."""
    with another_client(bench) as (client, sink):
        mark = sink.wire.mark()
        registration_id = sink.publication.registration_id
    sink.wire.expect(is_end, "a heartbeat with flag 0x20", within_ms=timers_ms(bench) + CONDUCTOR_MS, start=mark)
    bench.expect(
        lambda: client.id in bench.client.gone_counters,
        "the client's heartbeat counter unavailable",
        within_ms=timers_ms(bench),
        actual=lambda: "it is not",
    )
    bench.expect(
        lambda: bench.client.counters.find(CounterType.SND_POS, registration_id=registration_id) is None,
        "the publication's counters freed",
        within_ms=timers_ms(bench) + bench.option_ns("publication_linger_timeout_ns") / 1e6,
        actual=lambda: "they are not",
    )


@case(
    "L16",
    requirement="What a dead client claimed of its publication and never committed is padded, and the stream ends behind it.",
    source="Aeron: NetworkPublication.onTimeEvent (DRAINING); LogBufferUnblocker.unblock",
    stimulus="a second client with a connected publication claims 160 bytes behind its message, and gives no more signs of life",
    expected="PAD of 160 bytes behind the message, UNBLOCKED_PUBLICATIONS + 1",
    bound="the client's liveness timeout, three timer intervals + 200 ms",
    options=SHORT_LIVES,
)
def l16(bench: Bench) -> None:
    """A claim that nobody commits."""
    unblocked = bench.count(SystemCounter.UNBLOCKED_PUBLICATIONS)
    with another_client(bench) as (client, sink):
        place = sink.publication.position
        length = sink.publication.claim(CLAIMED_LENGTH) - place
        mark = sink.wire.mark()
        client.fall_silent()
        # The receiver lives on, or the driver would have no reason to send.
        keep = bench.option_ns("publication_connection_timeout_ns") / 4e6
        until_ns = time.monotonic_ns() + bench.option_ns("client_liveness_timeout_ns")
        while time.monotonic_ns() < until_ns:
            sink.send_status(place)
            bench.pause(keep)
        pad = sink.wire.expect(
            lambda frame: int(frame.type) == FrameType.PAD, "padding for the claimed frame", within_ms=timers_ms(bench) + keep, start=mark
        ).first
        check_equal("term offset and length", (pad.term_offset, pad.frame_length), (sink.frames.term(place)[1], length))
        bench.expect_count(SystemCounter.UNBLOCKED_PUBLICATIONS, unblocked + 1)


@case(
    "L18",
    requirement="A driver that is told to end says so in its last sign of life, and removes its directory if it was told to.",
    source="Aeron: MediaDriver.close; DriverConductor.onClose; aeron.dir.delete.on.shutdown",
    stimulus="SIGTERM to a driver of its own, with dir.delete.on.shutdown false and true in turn",
    expected="a last sign of life of -1; the directory kept, and removed",
    bound="3 s",
)
def l18(bench: Bench) -> None:
    """A driver's end."""
    for is_deleted in (False, True):
        with own_driver(bench, {"dir_delete_on_shutdown": str(is_deleted).lower()}) as twin:
            cnc = CncFile(twin.directory)
            os.kill(cnc.pid, signal.SIGTERM)
            bench.expect(lambda: not twin.is_alive(), "the driver to end", within_ms=END_MS, actual=lambda: "it lives")
            last = cnc.heartbeat_ms
            cnc.close()
            check_equal("last sign of life", last, CONSUMER_HEARTBEAT_CLOSED)
            check_equal("the directory is there", twin.directory.exists(), not is_deleted)
