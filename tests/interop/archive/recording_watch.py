"""What an application that has not asked for a recording sees of it, by our client: its events and the counter of its position.

What tests/interop/java/RecordingWatch.java is to the official client.
"""

from __future__ import annotations

from aerowire.archive import (
    AeronArchive,
    RecordingProgress,
    RecordingStarted,
    RecordingStopped,
    describe_recording_counter,
    find_counter_id_by_recording,
    find_counter_id_by_session,
    is_recording_active,
)


class RecordingWatch:
    """The events of one recording: its start, its last progress and its stop."""

    def __init__(self, archive: AeronArchive, recording_id: int) -> None:
        self._archive = archive
        self._recording_id = recording_id
        self._poller = archive.add_recording_events()
        self._events: list[str] = []
        self._progress = 0
        self._has_stopped = False

    @property
    def is_connected(self) -> bool:
        """Whether the archive's events come."""
        return self._poller.subscription.is_connected

    @property
    def events(self) -> str:
        """What was read."""
        return ", ".join(self._events)

    def has_stopped(self) -> bool:
        """Read events, and return whether the recording has stopped."""
        for event in self._poller.poll():
            if event.recording_id != self._recording_id:
                continue
            match event:
                case RecordingStarted():
                    self._events.append(f"start {event.start_position} {event.stream_id} {event.channel} {event.source_identity}")
                case RecordingProgress():
                    self._progress = event.position
                case RecordingStopped():
                    self._events += [f"progress {self._progress}", f"stop {event.start_position} {event.stop_position}"]
                    self._has_stopped = True
        return self._has_stopped

    def counter_of(self, session_id: int) -> str:
        """Return whether the counter of the recording is also that of its session; its key, whether it is active, its value."""
        counters, archive_id = self._archive.aeron.counters_reader, self._archive.archive_id
        counter_id = find_counter_id_by_recording(counters, self._recording_id, archive_id)
        found = describe_recording_counter(counters, counter_id)
        assert found is not None
        facts = (
            find_counter_id_by_session(counters, session_id, archive_id) == counter_id,
            found.recording_id == self._recording_id,
            found.source_identity,
            is_recording_active(counters, counter_id, self._recording_id),
            counters.value(counter_id),
        )
        return " ".join(str(fact).lower() if isinstance(fact, bool) else str(fact) for fact in facts)

    def close(self) -> None:
        """Read no more."""
        self._poller.subscription.close()
