from typing import final

from aerowire.ipc.counters import CountersReader

@final
class PositionBound:
    def __init__(self, counters: CountersReader, counter_id: int) -> None: ...
