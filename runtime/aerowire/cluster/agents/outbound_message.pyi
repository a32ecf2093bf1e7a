from typing import final

from typing_extensions import Buffer

from aerowire.cluster.agents.session_table import OpenSession

@final
class OutboundMessage:
    def __init__(self, message: Buffer, session: OpenSession | None = None) -> None: ...
    @property
    def length(self) -> int: ...
    def __bytes__(self) -> bytes: ...
