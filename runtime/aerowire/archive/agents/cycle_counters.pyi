from typing import final

from aerowire.client.lending.lent_counter import LentCounter

@final
class CycleCounters:
    def __init__(self, longest_ns: LentCounter, exceeded: LentCounter, threshold_ns: int) -> None: ...
