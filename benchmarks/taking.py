"""What a message of 32 bytes costs its receiver by each way of taking it, in one process with an embedded driver.

    python benchmarks/taking.py [--rounds N]

The messages lie in the log before the clock starts; the best of all rounds is shown, and the ratio to `poll` with a handler.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from aerowire.client import Aeron, ExclusivePublication, Header, Subscription
from aerowire.driver import MediaDriver

RECORD = np.dtype([("a", "<i8"), ("b", "<f8"), ("c", "<i8"), ("d", "<i8")])
# Half a term holds them all: no offer waits for room.
COUNT = 4000
CHANNEL, STREAM = "aeron:ipc?term-length=1m", 1001
FRAGMENT_LIMIT = 100


def by_poll(subscription: Subscription) -> None:
    taken = 0

    def handler(_buffer: memoryview, _offset: int, _length: int, _header: Header) -> None:
        nonlocal taken
        taken += 1

    while taken < COUNT:
        subscription.poll(handler, FRAGMENT_LIMIT)


def by_poll_many(subscription: Subscription) -> None:
    rows, taken = np.zeros(COUNT, RECORD), 0
    while taken < COUNT:
        batch = subscription.poll_many(COUNT - taken)
        if len(batch):
            rows[taken : taken + len(batch)] = batch.array(RECORD)
            taken += len(batch)


def by_poll_into(subscription: Subscription) -> None:
    rows, taken = np.zeros(COUNT, RECORD), 0
    while taken < COUNT:
        taken += subscription.poll_into(rows[taken:])


def by_messages(subscription: Subscription) -> None:
    messages = iter(subscription)
    for _ in range(COUNT):
        next(messages)


def by_views(subscription: Subscription) -> None:
    views = subscription.views()
    for _ in range(COUNT):
        next(views)
    del views


WAYS: dict[str, Callable[[Subscription], None]] = {
    "poll with a handler": by_poll,
    "poll_many, as an array": by_poll_many,
    "poll_into an array": by_poll_into,
    "for message in subscription": by_messages,
    "for view in subscription.views()": by_views,
}


def measure(publication: ExclusivePublication, subscription: Subscription, take: Callable[[Subscription], None]) -> float:
    """Return the ns that taking a message took."""
    publication.send_many(np.zeros(COUNT, RECORD))
    started = time.perf_counter_ns()
    take(subscription)
    return (time.perf_counter_ns() - started) / COUNT


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=50)
    rounds = parser.parse_args().rounds
    best = dict.fromkeys(WAYS, float("inf"))
    with (
        MediaDriver.launch_embedded() as driver,
        Aeron.connect(aeron_dir=driver.aeron_dir) as aeron,
        aeron.add_subscription(CHANNEL, STREAM) as subscription,
        aeron.add_exclusive_publication(CHANNEL, STREAM) as publication,
    ):
        for _ in range(rounds):
            for name, take in WAYS.items():
                best[name] = min(best[name], measure(publication, subscription, take))
    reference = best["poll with a handler"]
    for name, value in best.items():
        print(f"{name:34} {value:8.1f} ns  {value / reference:6.2f}")


if __name__ == "__main__":
    main()
