from typing import final

from typing_extensions import Buffer

@final
class NativeBuffer(Buffer):
    def __init__(self, capacity: int) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
