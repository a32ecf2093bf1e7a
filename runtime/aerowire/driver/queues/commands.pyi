from typing import final

from aerowire.base.errors import AerowireError

class AgentQueueFullError(AerowireError): ...

@final
class CommandQueue: ...
