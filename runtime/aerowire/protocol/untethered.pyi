from enum import IntEnum
from typing import final

class UntetheredState(IntEnum):
    ACTIVE = 0
    LINGER = 1
    RESTING = 2
    ENDED = 3

@final
class UntetheredTimes:
    @property
    def window_limit_ns(self) -> int: ...
    @property
    def linger_ns(self) -> int: ...
    @property
    def resting_ns(self) -> int: ...
    def __init__(self, *, window_limit_ns: int = ..., linger_ns: int = ..., resting_ns: int = ...) -> None: ...
    def step(self, state: int, since_ns: int, *, keeps_up: bool, rejoins: bool, now_ns: int) -> tuple[UntetheredState, int]: ...
