from collections.abc import Iterable, Sequence
from typing import NamedTuple, final

from aerowire.ipc.counters import CountersReader

STEPS_BACK: str
PAST_LIMIT: str
REUSED: str

class Breach(NamedTuple):
    rule: str
    counter_id: int
    expected: str
    saw: int

@final
class CounterWatch:
    def __init__(
        self,
        counters: CountersReader,
        *,
        positions: Iterable[int] = (),
        joined: Iterable[int] = (),
        bounds: Sequence[tuple[int, int, int]] = (),
        reuse_timeout_ms: int = 0,
    ) -> None: ...
    def look(self, now_ms: int) -> Breach | None: ...
