"""Send a NumPy array of ticks in batches and add them up as arrays, without a Python object for any message.

    python examples/batches.py [COUNT]

`offer_many` sends one message for each item of an array; `poll_many` copies out what has arrived, and `array` sees it as items again.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from aerowire.client import Aeron
from aerowire.driver import MediaDriver

CHANNEL, STREAM = "aeron:ipc?term-length=1m", 1001
TICK = np.dtype([("instrument", "<i8"), ("price", "<f8"), ("quantity", "<i8"), ("time_ns", "<i8")])
BATCH = 256
TIMEOUT_S = 30.0


def make_ticks(count: int) -> np.ndarray[Any, Any]:
    ticks = np.zeros(count, TICK)
    ticks["instrument"] = np.arange(count) % 10
    ticks["price"] = 100.0 + np.arange(count) % 7
    ticks["quantity"] = 1 + np.arange(count) % 5
    return ticks


def main(count: int) -> None:
    ticks = make_ticks(count)
    turnover, sent, received = 0.0, 0, 0
    with (
        MediaDriver.launch_embedded() as driver,
        Aeron.connect(aeron_dir=driver.aeron_dir) as aeron,
        aeron.add_subscription(CHANNEL, STREAM) as subscription,
        aeron.add_exclusive_publication(CHANNEL, STREAM) as publication,
    ):
        deadline = time.monotonic() + TIMEOUT_S
        while received < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{received} of {count} ticks within {TIMEOUT_S} s")
            if sent < count:
                accepted = publication.offer_many(ticks[sent : sent + BATCH])
                sent += max(accepted, 0)  # negative: back pressure and the like, and nothing was taken
            batch = subscription.poll_many(BATCH)
            if len(batch):
                part = batch.array(TICK)
                turnover += float((part["price"] * part["quantity"]).sum())
                received += len(part)
    assert turnover == float((ticks["price"] * ticks["quantity"]).sum())
    print(f"{received} ticks, turnover {turnover:,.0f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
