from typing import final

from aerowire.base.idle import IdleStrategy

@final
class WokenIdleStrategy(IdleStrategy):
    def __init__(self, strategy: IdleStrategy) -> None: ...
    def wake(self) -> None: ...
