from typing import final

from typing_extensions import Buffer

from aerowire.logbuffer.append import Appender

@final
class ExclusiveAppender(Appender):
    def pad(self, length: int) -> int: ...
    def append_block(self, block: Buffer) -> int: ...
