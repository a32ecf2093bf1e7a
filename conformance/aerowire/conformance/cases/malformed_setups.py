"""Group M: SETUPs whose values cannot be."""

from __future__ import annotations

from collections.abc import Sequence

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, MAX_UDP_PAYLOAD, TERM_LENGTH_MIN, SetupEncoder
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.cases.hostile import VALIDATION, edited
from aerowire.conformance.cases.rebuilding import SILENCE_MS, expect_good_data
from aerowire.conformance.harness.bench import Bench
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.model import Case, case


def expect_setups_refused(bench: Bench, name: str, values: Sequence[int]) -> None:
    """Send SETUPs with a field at each of the values: counted, no image, no reply; then a good one, which must bring the image."""
    source = bench.source(bench.subscribe())
    invalid = bench.count(SystemCounter.INVALID_PACKETS)
    mark = source.wire.mark()
    for index, value in enumerate(values):
        source.send(edited(source.frames.setup(), SetupEncoder, **{name: value}))
        bench.expect_count(SystemCounter.INVALID_PACKETS, invalid + index + 1)
    source.wire.expect_none(lambda _: True, "reply to a SETUP that cannot be", for_ms=SILENCE_MS, start=mark)
    check_equal("images of a SETUP that cannot be", len(source.images()), 0)
    image = source.start()
    expect_good_data(source, image)
    bench.expect_count(SystemCounter.INVALID_PACKETS, invalid + len(values))


def refused_setup(case_id: str, rule: str, name: str, *values: int) -> Case:
    """Return the case of a SETUP with wrong values in one field; `rule` says which values are wrong."""
    shown = ", ".join(f"{value:,}" for value in values)
    return case(
        case_id,
        requirement=f"A SETUP {rule} is an invalid packet: counted, never answered, and makes no image.",
        source="Aeron: ReceiveChannelEndpoint.onSetupMessage; SetupFlyweight",
        stimulus=f"a SETUP with {name} {shown}{' in turn' if len(values) > 1 else ''}, then a good one",
        expected="INVALID_PACKETS + 1 each, no image, no reply; then the image, and its data delivered",
        since=VALIDATION,
    )(lambda bench: expect_setups_refused(bench, name, values))


SETUPS: tuple[Case, ...] = (
    refused_setup("M19", "whose term length is no power of two", "term_length", TERM_LENGTH_MIN + 1),
    refused_setup("M20", "whose term length is below 64 KiB", "term_length", TERM_LENGTH_MIN // 2),
    # 2 GiB in 32 bits are the most negative number.
    refused_setup("M21", "whose term length is above 1 GiB or negative", "term_length", -(2**31), -TERM_LENGTH_MIN),
    refused_setup("M22", "whose term offset is not below its term length", "term_offset", TERM_LENGTH_MIN),
    refused_setup("M23", "whose term offset is no multiple of 32", "term_offset", FRAME_ALIGNMENT // 2),
    refused_setup("M24", "whose MTU is below 32 or no multiple of 32", "mtu", 0, FRAME_ALIGNMENT - 1, FRAME_ALIGNMENT + 1),
    refused_setup("M25", "whose MTU is above 65,504", "mtu", MAX_UDP_PAYLOAD + FRAME_ALIGNMENT),
    refused_setup("M26", "whose term offset is negative", "term_offset", -FRAME_ALIGNMENT),
)
