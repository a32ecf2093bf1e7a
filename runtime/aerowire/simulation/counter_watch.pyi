from collections.abc import Iterable
from typing import final

from aerowire.ipc.counters import CountersReader

@final
class CounterWatch:
    def __init__(self, counters: CountersReader, types: Iterable[int]) -> None: ...
    def look(self) -> tuple[int, int, int] | None: ...
