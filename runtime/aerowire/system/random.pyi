from typing import final

from aerowire.base.ports import RandomPort

@final
class SeededRandom(RandomPort):
    def __init__(self, seed: int | None = None) -> None: ...

class SystemSecrets:
    def u64(self) -> int: ...
