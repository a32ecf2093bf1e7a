from typing import final

from typing_extensions import Buffer

@final
class OutboundMessage:
    def __init__(self, message: Buffer) -> None: ...
    @property
    def length(self) -> int: ...
    def __bytes__(self) -> bytes: ...
