from typing import final

from aerowire.base.errors import AerowireError

class AgentQueueFullError(AerowireError): ...

@final
class AgentCommand:
    def __init__(
        self,
        operation: int,
        subject: object = None,
        a: int = 0,
        b: int = 0,
        *,
        flag: bool = False,
        value: int = 0,
        second: object = None,
        hold: bool = False,
        awaits: bool = False,
    ) -> None: ...

@final
class CommandQueue: ...
