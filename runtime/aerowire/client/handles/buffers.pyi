from typing import final

from typing_extensions import Buffer

@final
class NativeBuffer(Buffer):
    def __new__(cls, capacity: int) -> NativeBuffer: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
