from typing import final

from aerowire.base.runner import NativeAgent

class DriverAgent(NativeAgent):
    @property
    def free_commands(self) -> int: ...
    def forget_taken(self) -> None: ...

@final
class PointerArray: ...
