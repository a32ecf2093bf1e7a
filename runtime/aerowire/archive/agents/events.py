"""The events of recorder and replayer, as their conductor gets them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from aerowire.archive.agents.agent_events import FrameFault, RecordingEnd, ReplayEnd
    from aerowire.archive.agents.recording_session import RecordingSession
    from aerowire.archive.agents.replay_session import ReplaySession


class RecordingEnded(NamedTuple):
    """A recording has ended, its file is closed, and its image and counter are given back."""

    session: RecordingSession
    reason: RecordingEnd
    position: int
    """Up to which all is written, and synced where the sync level says so; the counter is not beyond it."""
    error: int
    """An errno; 0 for ends without one."""
    segment_position: int
    """At which the segment begins that was written last, or was to be."""
    expected: int
    """The length of the segment in bytes, when it was shortened; else 0."""
    found: int
    """Its length now; of a malformed frame, the length that it says."""


class ReplayStarted(NamedTuple):
    """The recording can be read where the replay begins: the request for it may be answered."""

    session: ReplaySession


class ReplayEnded(NamedTuple):
    """A replay has ended, its file is closed, and its publication is given back."""

    session: ReplaySession
    reason: ReplayEnd
    position: int
    """Up to which was sent."""
    error: int
    """An errno; 0 for ends without one."""
    segment_position: int
    """At which the segment begins that was read last, or was to be."""
    offset: int
    """In that segment, of what was not as expected."""
    fault: FrameFault
    """What is wrong with the frame there."""
    expected: int
    found: int


AgentEvent = RecordingEnded | ReplayStarted | ReplayEnded
