from typing import final

from aerowire.base.idle import IdleStrategy

PARK_MAX_NS: int
REST_MAX_NS: int

@final
class Parking(IdleStrategy):
    def __init__(self, park_max_ns: int = ..., rest_max_ns: int = ..., rest_min_ns: int = ...) -> None: ...
    def ring(self) -> None: ...
