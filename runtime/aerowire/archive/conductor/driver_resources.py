"""What an archive asks the driver for before it can serve: its counters, its control subscriptions, the publication of its events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.archive.conductor import archive_counters
from aerowire.archive.context import ArchiveThreadingMode
from aerowire.archive.control.retried_request import RetriedRequest
from aerowire.base.channel_uri import ChannelUri
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aerowire.archive.context import ArchiveContext
    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.counter import Counter
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.client.subscriptions.subscription import Subscription

# One counter of each for an archive.
SINGLE_COUNTERS = (
    CounterType.ARCHIVE_CONTROL_SESSIONS,
    CounterType.ARCHIVE_RECORDING_SESSION_COUNT,
    CounterType.ARCHIVE_REPLAY_SESSION_COUNT,
    CounterType.ARCHIVE_RECORDER_MAX_WRITE_TIME,
    CounterType.ARCHIVE_RECORDER_TOTAL_WRITE_BYTES,
    CounterType.ARCHIVE_RECORDER_TOTAL_WRITE_TIME,
    CounterType.ARCHIVE_REPLAYER_MAX_READ_TIME,
    CounterType.ARCHIVE_REPLAYER_TOTAL_READ_BYTES,
    CounterType.ARCHIVE_REPLAYER_TOTAL_READ_TIME,
)
_CYCLE_COUNTERS = (CounterType.ARCHIVE_MAX_CYCLE_TIME, CounterType.ARCHIVE_CYCLE_TIME_THRESHOLD_EXCEEDED)
CONDUCTOR, RECORDER, REPLAYER = "archive-conductor", "archive-recorder", "archive-replayer"


@dataclass(frozen=True, slots=True)
class DriverResources:
    """Everything that was asked for. `counters` are by type; the duty cycle counters of an agent are by its name."""

    counters: Mapping[CounterType, Counter]
    cycles: Mapping[str, tuple[Counter, Counter]]
    subscriptions: tuple[Subscription, ...]
    recording_events: ExclusivePublication | None


class ResourceRequest:
    """The requests for them, none of which is waited for: `poll` until it returns them.

    What has been added belongs to the client, and ends with it.
    """

    def __init__(self, context: ArchiveContext, aeron: Aeron, archive_id: int) -> None:
        self._counters = {CounterType.ARCHIVE_ERROR_COUNT: _add(aeron, archive_counters.error_count(archive_id))}
        self._counters |= {kind: _add(aeron, archive_counters.of_archive(kind, archive_id)) for kind in SINGLE_COUNTERS}
        self._cycles = {
            agent: tuple(
                _add(
                    aeron,
                    archive_counters.of_agent(
                        kind, archive_id, agent=agent, threading_mode=context.threading_mode.value, threshold_ns=threshold_ns
                    ),
                )
                for kind in _CYCLE_COUNTERS
            )
            for agent, threshold_ns in _agents_of(context).items()
        }
        self._subscriptions: list[RetriedRequest[Subscription]] = []
        for channel, stream_id in _control_channels(context):
            self._subscriptions.append(_subscription(aeron, channel, stream_id))
        self._found: dict[int, Subscription] = {}
        self._events: RetriedRequest[ExclusivePublication] | None = None
        self._events_publication: ExclusivePublication | None = None
        if context.recording_events_enabled:
            self._events = RetriedRequest(
                lambda: aeron.async_add_exclusive_publication(context.recording_events_channel, context.recording_events_stream_id)
            )

    def poll(self, now_ms: int) -> DriverResources | None:
        """Return what was asked for, once all of it is there. Raises what the driver refused a part with."""
        counters = [*self._counters.values(), *(counter for pair in self._cycles.values() for counter in pair)]
        is_complete = all(counter.poll() for counter in counters)
        for index, subscription in enumerate(self._subscriptions):
            if index not in self._found and (found := subscription.poll(now_ms)) is not None:
                self._found[index] = found
        if self._events is not None and self._events_publication is None:
            self._events_publication = self._events.poll(now_ms)
        is_complete &= self._events is None or self._events_publication is not None
        if not is_complete or len(self._found) < len(self._subscriptions):
            return None
        return DriverResources(
            {kind: counter.result() for kind, counter in self._counters.items()},
            {agent: (longest.result(), exceeded.result()) for agent, (longest, exceeded) in self._cycles.items()},
            tuple(self._found[index] for index in sorted(self._found)),
            self._events_publication,
        )


def _agents_of(context: ArchiveContext) -> dict[str, int]:
    """Return the agents with a thread of their own, or that run all, with their thresholds."""
    agents = {CONDUCTOR: context.conductor_cycle_threshold_ns}
    if context.threading_mode is ArchiveThreadingMode.DEDICATED:
        agents |= {RECORDER: context.recorder_cycle_threshold_ns, REPLAYER: context.replayer_cycle_threshold_ns}
    return agents


def _control_channels(context: ArchiveContext) -> list[tuple[str, int]]:
    found = [(context.local_control_channel, context.local_control_stream_id)]
    if context.control_channel_enabled:
        uri = ChannelUri.parse(context.control_channel)
        uri.parameters["sparse"] = str(context.control_term_buffer_sparse).lower()
        found.append((str(uri), context.control_stream_id))
    return found


def _subscription(aeron: Aeron, channel: str, stream_id: int) -> RetriedRequest[Subscription]:
    return RetriedRequest(lambda: aeron.async_add_subscription(channel, stream_id))


def _add(aeron: Aeron, spec: archive_counters.CounterSpec) -> Pending[Counter]:
    return aeron.async_add_counter(spec.type_id, spec.label, key=spec.key)
