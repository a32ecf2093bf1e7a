"""What a message of a cluster's client costs beside one of a plain publication and subscription, in one process with an embedded driver.

    python -m benchmarks.cluster.client [--rounds N]

Offers: `SessionIngress.offer`, which is `AeronCluster.offer`, beside `ExclusivePublication.offer`. Polls: the egress adapter of
`AeronCluster.poll_egress` beside `Subscription.poll`, each with an assembler and a handler that does nothing. The medians of all rounds
count, which alternate between the two. Bars: an offer at most twice that of a publication, a message of the egress at most 3 times one of
a subscription. Returns 1 when one is missed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

from aerowire.client import Aeron, FragmentAssembler, Header, Subscription
from aerowire.cluster.client.egress_adapter import EgressAdapter
from aerowire.cluster.client.session_ingress import SessionIngress
from aerowire.driver import MediaDriver
from benchmarks.bars import judge

SESSION_ID, TERM_ID = 7, 3
MESSAGE = bytes(100)
# With the headers of the frame and of the session, aligned.
FRAME_LENGTH = 192
# Half a term holds them all: no offer waits for room.
COUNT = 2_000
CHANNEL, STREAM = "aeron:ipc?term-length=1m", 1001


def offering(offer: Callable[[bytes], int]) -> float:
    """Offer COUNT messages; return nanoseconds a message."""
    message, started = MESSAGE, time.perf_counter_ns()
    for _ in range(COUNT):
        offer(message)
    return (time.perf_counter_ns() - started) / COUNT


def polling(subscription: Subscription, assembler: FragmentAssembler, position: int) -> float:
    """Poll up to a position; return nanoseconds a message."""
    polled, image, started = 0, subscription.images[0], time.perf_counter_ns()
    while image.position < position:
        polled += subscription.poll(assembler, 10)
    elapsed = time.perf_counter_ns() - started
    assert polled >= COUNT - 1  # the offer that turns a term over sends nothing
    return elapsed / polled


def by_fragment(_buffer: memoryview, _offset: int, _length: int, _header: Header) -> None:
    """Ignore a message of the subscription."""


def by_message(_session_id: int, _timestamp: int, _buffer: memoryview, _offset: int, _length: int, _header: Header) -> None:
    """Ignore a message of the session."""


def main() -> int:
    """Measure and print; return the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=300, help="rounds of which the median is taken (default: 300)")
    rounds = arguments.parse_args().rounds
    costs: dict[str, list[float]] = {name: [] for name in ("offer", "session offer", "poll", "egress poll")}
    with MediaDriver.launch_embedded() as driver, Aeron.connect(driver.aeron_dir) as aeron:
        subscription = aeron.add_subscription(CHANNEL, STREAM)
        publication = aeron.add_exclusive_publication(CHANNEL, STREAM)
        ingress = SessionIngress(SESSION_ID)
        ingress.set_leader(publication, TERM_ID)
        plain = FragmentAssembler(by_fragment)
        egress = FragmentAssembler(EgressAdapter(SESSION_ID, by_message, lambda _event, _header: None).on_fragment)
        while not (publication.is_connected and subscription.images):
            time.sleep(1e-3)
        for _ in range(rounds):
            for offer, assembler, name in ((publication.offer, plain, ""), (ingress.offer, egress, "session ")):
                while publication.available_window < COUNT * FRAME_LENGTH:
                    time.sleep(1e-3)
                costs[f"{name}offer"].append(offering(offer))
                costs["egress poll" if name else "poll"].append(polling(subscription, assembler, publication.position))
    middles = {name: statistics.median(found) for name, found in costs.items()}
    print(f"messages of {len(MESSAGE)} bytes, ns each: " + ", ".join(f"{name} {middle:.0f}" for name, middle in middles.items()))
    reached = judge("an offer to a cluster to one of a publication", middles["session offer"] / middles["offer"], most=2)
    return (
        0 if judge("a message of an egress to one of a subscription", middles["egress poll"] / middles["poll"], most=3) and reached else 1
    )


if __name__ == "__main__":
    raise SystemExit(main())
