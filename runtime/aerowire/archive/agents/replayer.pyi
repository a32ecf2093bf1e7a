from typing import final

from aerowire.archive.agents.session_agent import SessionAgent

@final
class Replayer(SessionAgent):
    @property
    def role_name(self) -> str: ...
