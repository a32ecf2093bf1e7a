from typing import final

from aerowire.logbuffer.append import Appender

@final
class ConcurrentAppender(Appender): ...
