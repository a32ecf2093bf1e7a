from typing import final

from aerowire.archive.agents.session_agent import SessionAgent

@final
class Recorder(SessionAgent):
    @property
    def role_name(self) -> str: ...
