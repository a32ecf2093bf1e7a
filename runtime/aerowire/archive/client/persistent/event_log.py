"""The event log of an application that reads archives: what its persistent subscriptions do. Aeron: ArchiveLog, in such an application."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from aerowire.agents.event_log import EventLog
from aerowire.agents.state_events import StateEvents
from aerowire.base.directory import EVENT_LOG_FILE_NAME
from aerowire.base.event_selection import ARCHIVE_EVENTS
from aerowire.base.file_trees import make_directories
from aerowire.base.options import resolve_options
from aerowire.base.version import VERSION
from aerowire.codecs.flyweights.events import ArchiveEventCode
from aerowire.codecs.tables.options import OPTIONS as DRIVER_OPTIONS
from aerowire.system.ports import Ports

if TYPE_CHECKING:
    import enum

    from aerowire.archive.client.persistent.stream import PersistentStream

_DIRECTORY_MODE: Final = 0o755


class ArchiveEventLog:
    """A log in a directory, which `aerowire events --archive DIRECTORY` reads along. Any number of persistent subscriptions, any thread.

    The directory is the log's own, neither an archive's nor another log's; it is made if it is not there. The file stays after `close`.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        events: str | None = None,
        properties: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        ports: Ports | None = None,
    ) -> None:
        """`events` are those that are noted, as in the option aeron.event.archive.log; None: what that selects, or all where it is not set.

        Raises ConfigurationError for an unknown event, FileError where there can be no such file.
        """
        codes = ARCHIVE_EVENTS.parse(events, "ArchiveEventLog") if events is not None else _selected(properties or {}, environ)
        ports = ports or Ports.system()
        self.path: Final = Path(directory) / EVENT_LOG_FILE_NAME
        make_directories(ports.files, self.path.parent, _DIRECTORY_MODE)
        length = EventLog.file_length(int(DRIVER_OPTIONS["event_buffer_length"].default or 0))
        self.events = StateEvents(EventLog(ports.regions.create(self.path, length, sparse=True), ports.clock, codes))
        self.events.note(ArchiveEventCode.START, version=VERSION)

    def close(self) -> None:
        """Note nothing more. A second call does nothing."""
        self.events = StateEvents()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()


def _selected(properties: Mapping[str, str], environ: Mapping[str, str] | None) -> frozenset[ArchiveEventCode]:
    enabled = ARCHIVE_EVENTS.enabled.name
    values = resolve_options({"archive-client"}, {}, properties, environ)
    return ARCHIVE_EVENTS.selected(values if enabled in values.given else {**values, enabled: "all"})


class PersistentEvents:
    """The events of one persistent subscription, in a log if there is one. Belongs to its thread."""

    def __init__(self, log: ArchiveEventLog | None, stream: PersistentStream, replay_channel: str) -> None:
        self._log = log
        self._facts: dict[str, str | int] = {
            "recording_id": stream.recording_id,
            "replay_channel": replay_channel,
            "replay_stream_id": stream.replay_stream_id,
            "live_channel": stream.live_channel,
            "live_stream_id": stream.live_stream_id,
        }

    def state_change(self, old: enum.Enum, new: enum.Enum) -> None:
        """The subscription goes on to another state."""
        if self._log is not None:
            self._log.events.state_change(ArchiveEventCode.PERSISTENT_SUBSCRIPTION_STATE_CHANGE, old, new, **self._facts)

    def joined_live(self, session_id: int, position: int) -> None:
        """The subscription has joined the live stream, a session, at a position."""
        self._note(ArchiveEventCode.PERSISTENT_SUBSCRIPTION_JOINED_LIVE, live_session_id=session_id, join_position=position)

    def left_live(self, position: int) -> None:
        """The subscription has lost the live stream at a position."""
        self._note(ArchiveEventCode.PERSISTENT_SUBSCRIPTION_LEFT_LIVE, live_position=position)

    def _note(self, code: ArchiveEventCode, **facts: int) -> None:
        if self._log is not None:
            self._log.events.note(code, **self._facts, **facts)
