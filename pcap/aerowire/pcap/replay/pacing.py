"""When messages are due that are sent again as fast as they came, or faster or slower.  Knows time only as it is handed in."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from aerowire.pcap.replay.replaying import Message

BATCH_MAX = 256  # messages handed over at once: beyond that one call more costs nothing
BATCH_BYTES_MAX = 1 << 20
SLICE_S = 0.1  # the longest sleep, after which somebody looks whether all is well
MAX = math.inf


def parse_speed(text: str) -> float:
    """Return the factor of a speed such as `1x`, `0.5x` or `10`; `max` is infinite.  Raises ValueError."""
    if text.lower() == "max":
        return MAX
    try:
        speed = float(text.lower().removesuffix("x"))
    except ValueError:
        speed = 0.0
    if not 0 < speed < math.inf:
        raise ValueError(f"speed: expected a factor above 0 such as 1x, 0.5x or 10x, or max, found {text!r}")
    return speed


@dataclass(frozen=True)
class Clock:
    """Time in nanoseconds, and a way of waiting in seconds."""

    now_ns: Callable[[], int] = time.monotonic_ns
    sleep_s: Callable[[float], None] = time.sleep


def due_batches(
    messages: Iterable[Message], speed: float, *, clock: Clock | None = None, idle: Callable[[], None] = lambda: None
) -> Iterator[list[Message]]:
    """Yield messages in order, together those that are due, as they fall due.

    The first is due at once, each other one as long after it as its time stamp is, divided by `speed`.  A time stamp before an
    earlier message's does not change the order: that message is due with the earlier one.  idle: called every SLICE_S while nothing is due.
    """
    clock = clock or Clock()
    batch: list[Message] = []
    length = 0
    first_ns: int | None = None
    began_ns = 0
    for message in messages:
        if speed != MAX:
            if first_ns is None:
                first_ns, began_ns = message.ts_ns, clock.now_ns()
            due_ns = began_ns + int((message.ts_ns - first_ns) / speed)
            if due_ns > clock.now_ns():
                if batch:
                    yield batch
                    batch, length = [], 0
                while (left_ns := due_ns - clock.now_ns()) > 0:
                    clock.sleep_s(min(left_ns / 1e9, SLICE_S))
                    idle()
        batch.append(message)
        length += len(message.payload)
        if len(batch) == BATCH_MAX or length >= BATCH_BYTES_MAX:
            yield batch
            batch, length = [], 0
    if batch:
        yield batch
