"""Counters of a persistent subscription, which tell other processes what it does. Aeron: PersistentSubscription.Context.

They are added without waiting; what is set before they are there is set as soon as they are. Where the driver has no room for them, the
subscription does without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.errors import RegistrationError
from aerowire.codecs.flyweights.cnc import COUNTER_LABEL_LENGTH_MAX
from aerowire.codecs.tables.counters import COUNTER_LABEL_FORMATS, CounterType

if TYPE_CHECKING:
    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.counter import Counter
    from aerowire.client.handles.waiting import Pending

_TYPES = (
    CounterType.PERSISTENT_SUBSCRIPTION_STATE,
    CounterType.PERSISTENT_SUBSCRIPTION_JOIN_DIFFERENCE,
    CounterType.PERSISTENT_SUBSCRIPTION_LIVE_LEFT_COUNT,
    CounterType.PERSISTENT_SUBSCRIPTION_LIVE_JOINED_COUNT,
)


class PersistentCounters:
    """The counters of one persistent subscription, by their types. Belongs to its thread."""

    def __init__(self, aeron: Aeron, *, replay_channel: str, replay_stream_id: int, live_channel: str, live_stream_id: int) -> None:
        names = {
            "replay_channel": replay_channel,
            "replay_stream_id": replay_stream_id,
            "live_channel": live_channel,
            "live_stream_id": live_stream_id,
        }
        self._aeron = aeron
        self._values: dict[CounterType, int] = dict.fromkeys(_TYPES, 0)
        self._counters: dict[CounterType, Counter] = {}
        self._pending: dict[CounterType, Pending[Counter]] = {
            kind: aeron.async_add_counter(kind, COUNTER_LABEL_FORMATS[kind].format_map(names)[:COUNTER_LABEL_LENGTH_MAX]) for kind in _TYPES
        }

    def poll(self) -> None:
        """Look for counters that the driver has added."""
        for kind, pending in list(self._pending.items()):
            if pending.poll():
                del self._pending[kind]
                try:
                    self._counters[kind] = pending.result()
                except RegistrationError:
                    continue
                self._counters[kind].value = self._values[kind]

    def set(self, kind: CounterType, value: int) -> None:
        """Set a counter."""
        self._values[kind] = value
        counter = self._counters.get(kind)
        if counter is not None and not counter.is_closed:
            counter.value = value

    def increment(self, kind: CounterType) -> None:
        """Add one to a counter."""
        self.set(kind, self._values[kind] + 1)

    def close(self) -> None:
        """Give the counters back."""
        for pending in self._pending.values():
            pending.abandon()
        for counter in self._counters.values():
            counter.close()
        self._pending.clear()
        self._counters.clear()
