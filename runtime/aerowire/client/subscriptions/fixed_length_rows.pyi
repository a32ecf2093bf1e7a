from typing import final

from typing_extensions import Buffer

@final
class FixedLengthRows:
    def __init__(self, array: Buffer) -> None: ...
    @property
    def filled(self) -> int: ...
