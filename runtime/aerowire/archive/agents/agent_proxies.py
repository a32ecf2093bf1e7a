"""Commands of the archive's conductor to its recorder and its replayer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.agents.agent_proxy import AgentProxy
from aerowire.agents.command_queue import AgentCommand
from aerowire.archive.agents.session_agent import SessionOperation

if TYPE_CHECKING:
    from aerowire.archive.agents.recording_session import RecordingSession
    from aerowire.archive.agents.replay_session import ReplaySession


class RecorderProxy(AgentProxy):
    """Commands to the recorder."""

    __slots__ = ()

    def add(self, session: RecordingSession) -> None:
        """Record until the session has ended, which an event tells."""
        self.put(AgentCommand(SessionOperation.ADD_SESSION, session, hold=True))

    def stop(self, session: RecordingSession) -> None:
        """Let a recording end with the block that is being written. One that has ended by itself stays as it is."""
        self.put(AgentCommand(SessionOperation.STOP_SESSION, session))


class ReplayerProxy(AgentProxy):
    """Commands to the replayer."""

    __slots__ = ()

    def add(self, session: ReplaySession) -> None:
        """Replay until the session has ended, which an event tells."""
        self.put(AgentCommand(SessionOperation.ADD_SESSION, session, hold=True))

    def abort(self, session: ReplaySession) -> None:
        """Let a replay end where it is. One that has ended by itself stays as it is."""
        self.put(AgentCommand(SessionOperation.STOP_SESSION, session))
