"""Whether there is a subscriber, and whether it has got everything: what a command that sends waits for. Knows nothing of what is sent."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.client import Aeron, ExclusivePublication

SLEEP_MIN_S = 20e-6
SLEEP_MAX_S = 1e-3


def await_subscriber(publication: ExclusivePublication, limit_s: float | None) -> bool:
    """Wait until somebody subscribes, for `limit_s` (None: for ever); return whether there is one. Raises once the driver is gone."""
    from aerowire.client import wait_for

    def is_connected() -> bool:
        publication.offer_many(())  # raises once the driver is gone
        return publication.is_connected

    return wait_for(is_connected, None if limit_s is None else int(limit_s * 1e9), sleep_max_s=SLEEP_MAX_S)


def drain(aeron: Aeron, publication: ExclusivePublication, stall_s: float | None = None) -> bool:
    """Wait until every position that follows the stream has reached its end; False when the subscriber left before.

    stall_s: False too when the last of the followers does not move for so long (None: wait on).  Raises once the driver is gone.
    """
    from aerowire.client import wait_for
    from aerowire.codecs.flyweights.cnc import StreamCounterKeyDecoder
    from aerowire.codecs.tables.counters import CounterType

    end = publication.position
    followers = {CounterType.SUB_POS, CounterType.SND_POS}
    last, moved_s = end, time.monotonic()

    def is_over() -> bool:
        nonlocal last, moved_s
        publication.offer_many(())
        before, last = last, end
        for counter in aeron.counters_reader.for_each():
            if counter.type_id in followers:
                key = StreamCounterKeyDecoder(counter.key)
                if key.session_id == publication.session_id and key.stream_id == publication.stream_id:
                    last = min(last, counter.value)
        if last != before:
            moved_s = time.monotonic()
        is_stalled = stall_s is not None and time.monotonic() - moved_s >= stall_s
        return last >= end or is_stalled or not publication.is_connected

    wait_for(is_over, None, sleep_max_s=SLEEP_MAX_S)
    return last >= end
