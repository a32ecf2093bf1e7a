"""Group H: how far a publisher and the subscribers of the same machine let a stream run."""

from __future__ import annotations

import time
from collections.abc import Callable

from aerowire.conformance.cases.listeners import KIB, append
from aerowire.conformance.cases.options import SHORT_LIVES
from aerowire.conformance.harness.bench import CONDUCTOR_MS, TERM_LENGTH, Bench, Sink
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.client import Image
from aerowire.conformance.model import Finding, case

WINDOW = TERM_LENGTH // 2


def expect_limit(bench: Bench, sink: Sink, position: int, *, within_ms: float = CONDUCTOR_MS) -> None:
    """Wait until a publisher may write up to a position."""
    bench.expect(
        lambda: sink.publication.limit == position,
        f"pub-lmt at {position}",
        within_ms=within_ms,
        actual=lambda: f"it is at {sink.publication.limit}",
    )


@case(
    "H14",
    requirement="A publisher may write as far beyond what was sent as the channel's pub-wnd says, and no further.",
    source="Aeron: NetworkPublication.updatePublisherPositionAndLimit; PublicationParams",
    stimulus="a publication with pub-wnd=8k whose receiver takes half a term; 4 frames of 1 KiB",
    expected="pub-lmt at 8 KiB when connected, at 12 KiB when the frames were sent",
    bound="200 ms (through the conductor)",
)
def h14(bench: Bench) -> None:
    """A publisher's window."""
    sink = bench.publish("pub-wnd=8k")
    sink.connect()
    expect_limit(bench, sink, 8 * KIB)
    sink.publish([bytes(KIB - 32)] * 4)
    expect_limit(bench, sink, 12 * KIB)


@case(
    "H16",
    requirement="A subscriber on the publisher's machine that stands still holds the publisher back, unless it is not tethered: "
    "then its image is withdrawn after the window limit timeout, no longer counts after the linger timeout, and comes back after resting.",
    source="Aeron: NetworkPublication.updatePublisherPositionAndLimit and checkUntetheredSubscriptions",
    stimulus="spies that read nothing on a stream whose receiver has taken a whole publication window: one that is tethered, "
    "then, when it is gone, one with tether=false",
    expected="pub-lmt a window beyond the spy; with the first for longer than the timeouts, with the second until it was unavailable and "
    "lingered; then its image again, at the sender's position",
    bound="each timeout + 200 ms (through the conductor), and the driver's timer interval",
    options=SHORT_LIVES,
)
def h16(bench: Bench) -> None:
    """A slow subscriber on the publisher's machine."""
    timeouts = [bench.option_ns(f"untethered_{name}_timeout_ns") / 1e6 for name in ("window_limit", "linger", "resting")]
    limit_ms, linger_ms, resting_ms = timeouts
    slack_ms = CONDUCTOR_MS + bench.option_ns("timer_interval_ns") / 1e6
    sink = bench.publish()
    sink.connect()
    channel = f"aeron-spy:aeron:udp?endpoint={sink.wire.authority}"
    tethered_id = bench.client.add_subscription(channel, sink.publication.stream_id)
    loose_id = bench.client.add_subscription(f"{channel}|tether=false", sink.publication.stream_id)
    loose = expect_images(bench, loose_id, 1)[0]
    tethered = expect_images(bench, tethered_id, 1)[0]
    append(sink, WINDOW // KIB)
    started_ns = time.monotonic_ns()
    end = WINDOW

    def keep_alive() -> None:
        sink.send_status(end)

    def is_gone() -> bool:
        return loose.correlation_id in bench.client.unavailable

    await_change(bench, keep_alive, is_gone, "the image without tether to be unavailable", started_ns, limit_ms, slack_ms)
    gone_ns = time.monotonic_ns()
    check_equal("pub-lmt while a subscriber stands still", sink.publication.limit, end)
    # The tethered one is read at last; only the other, which lingers, still counts.
    tethered.consume()
    check_equal("position of the tethered subscriber", tethered.position, end)
    await_change(
        bench, keep_alive, lambda: sink.publication.limit > end, "pub-lmt beyond the subscriber that lingered", gone_ns, linger_ms, slack_ms
    )
    expect_limit(bench, sink, 2 * WINDOW)
    rested_ns = time.monotonic_ns()
    await_change(
        bench,
        keep_alive,
        lambda: len(bench.client.images_of(loose_id)) > 1,
        "the image again",
        rested_ns,
        resting_ms,
        slack_ms,
    )
    check_equal("position at which the image comes back", bench.client.images_of(loose_id)[1].join_position, end)
    check_equal("images of the tethered subscriber", len(bench.client.images_of(tethered_id)), 1)


def expect_images(bench: Bench, subscription_id: int, count: int) -> list[Image]:
    """Wait until a subscription was given so many images."""
    what = f"{count} images"
    bench.expect(lambda: len(bench.client.images_of(subscription_id)) >= count, what, within_ms=CONDUCTOR_MS)
    return bench.client.images_of(subscription_id)


def await_change(
    bench: Bench,
    keep_alive: Callable[[], None],
    condition: Callable[[], bool],
    what: str,
    since_ns: int,
    timeout_ms: float,
    slack_ms: float,
) -> None:
    """Wait for what must happen a timeout after `since_ns` and not before, while the receiver goes on; `slack_ms` may be seen late."""

    def elapsed_ms() -> float:
        return (time.monotonic_ns() - since_ns) / 1e6

    # What began the timeout was seen up to the slack after it happened.
    while elapsed_ms() < timeout_ms - slack_ms:
        keep_alive()
        if bench.wait_until(condition, 100.0) and elapsed_ms() < timeout_ms - slack_ms:
            raise Finding(f"{what} after {timeout_ms:g} ms", f"it took {elapsed_ms():.0f} ms")
    keep_alive()
    bench.expect(condition, what, within_ms=max(0.0, timeout_ms - elapsed_ms()) + slack_ms)
