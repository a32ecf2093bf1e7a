"""Publications that send to several destinations, which the harness plays."""

from __future__ import annotations

import time
from collections.abc import Sequence

from aerowire.codecs.tables.counters import CounterType
from aerowire.conformance.cases.listeners import MESSAGE, SILENCE_MS, expect_value
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, LOOPBACK, TERM_LENGTH, Bench, Sink
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.wire import Match, Wire, free_port
from aerowire.conformance.model import Finding


def publish(bench: Bench, mode: str, *, endpoint: Wire | None = None) -> Sink:
    """Add a publication of which nobody has heard yet; the harness knows its control port."""
    port = free_port()
    channel = f"aeron:udp?control={LOOPBACK}:{port}|control-mode={mode}|term-length={TERM_LENGTH}"
    if endpoint is not None:
        channel += f"|endpoint={endpoint.authority}"
    added_ns = time.monotonic_ns()
    sink = Sink(bench, endpoint or bench.wire(), bench.client.add_publication(channel, bench.new_id()), added_ns)
    sink.driver = (LOOPBACK, port)
    return sink


def channel_to(wire: Wire) -> str:
    """Return the channel of a destination at a socket of the harness."""
    return f"aeron:udp?endpoint={wire.authority}"


def send_status(sink: Sink, wire: Wire, *, receiver: int = 0, position: int | None = None) -> int:
    """Send the status message of one of several receivers from its own socket; return when it left."""
    at = sink.publication.position if position is None else position
    return wire.send(sink.frames.status(at, sink.window, sink.receiver_id + receiver), sink.driver)


def expect_destinations(bench: Bench, sink: Sink, count: int, *, within_ms: float = CONDUCTOR_MS) -> None:
    """Wait until the driver counts so many destinations."""
    expect_value(bench, sink, CounterType.MDC_NUM_DEST, count, within_ms=within_ms)


def check_reached(sink: Sink, who: Sequence[Wire], others: Sequence[Wire] = ()) -> None:
    """Publish a message: it must come to some sockets, once to each, and not to others."""
    marks = {wire: wire.mark() for wire in (*who, *others)}
    place = sink.frames.term(sink.publication.position)
    sink.publication.append(MESSAGE)
    is_it = place_of(place)
    for index, wire in enumerate(who, start=1):
        what = f"the data at destination {index} of {len(who)}"
        wire.expect(is_it, what, within_ms=CONDUCTOR_MS, start=marks[wire])
    for index, wire in enumerate(who, start=1):
        came = wire.collect(SILENCE_MS, match=is_it, start=marks[wire])
        check_equal(f"datagrams at destination {index} of {len(who)}", len(came), 1)
    for wire in others:
        found = wire.collect(SILENCE_MS if not who else 1.0, match=frames.is_data, start=marks[wire])
        if found:
            raise Finding("no data at a socket that is no destination", f"{found[0]!r}")


def place_of(place: tuple[int, int]) -> Match:
    """Match the data at a place of the stream."""
    return lambda frame: frames.is_data(frame) and (frame.term_id, frame.term_offset) == place
