from typing import final

from aerowire.ipc.counters import CountersReader

@final
class SystemCounters:
    def __init__(self, counters: CountersReader) -> None: ...
    def get(self, counter_id: int) -> int: ...
