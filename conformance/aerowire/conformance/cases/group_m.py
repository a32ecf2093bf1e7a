"""Group M: malformed datagrams."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import DataHeaderDecoder
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, REACTION_MS, Bench
from aerowire.conformance.model import Case, Finding, case

SILENCE_MS = 10 * REACTION_MS


def expect_invalid(bench: Bench, build: str, datagram_of: object) -> None:
    """Send a malformed datagram to a receiving and a sending endpoint; each must count it and keep silent."""
    assert callable(datagram_of)
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
    # The driver is alive and both endpoints still do their work.
    source.send_data(0, b"well-formed")
    source.expect_elicit(within_ms=CONDUCTOR_MS)
    sink.connect()
    if not bench.client.is_driver_alive():
        raise Finding("a driver that gives signs of life", "its heartbeat stands still")


@case(
    "M04",
    requirement="A negative frame length makes an invalid packet: counted, never answered.",
    source="Aeron: UdpChannelTransport.isValidFrame",
    stimulus="a DATA datagram with frame_length -1, to a subscription's and to a publication's endpoint",
    expected="INVALID_PACKETS + 1 each, no reply, driver alive",
    since="1.53",
)
def m04(bench: Bench) -> None:
    """Negative length."""
    expect_invalid(bench, "a frame of negative length", lambda stream: stream.data(0, bytes(32), frame_length=-1))


@case(
    "M15",
    requirement="A DATA datagram whose length is no multiple of 32 is an invalid packet: counted, never answered.",
    source="Aeron: UdpChannelTransport.isValidFrame",
    stimulus="a DATA datagram of 40 bytes, to a subscription's and to a publication's endpoint",
    expected="INVALID_PACKETS + 1 each, no reply, driver alive",
    since="1.53",
)
def m15(bench: Bench) -> None:
    """Unaligned DATA."""
    expect_invalid(bench, "an unaligned DATA datagram", lambda stream: stream.data(0, bytes(8))[: DataHeaderDecoder.ENCODED_LENGTH + 8])


CASES: tuple[Case, ...] = (m04, m15)
