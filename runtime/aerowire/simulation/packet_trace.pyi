from enum import EnumMeta, IntEnum
from typing import Any, NamedTuple, final

class _DeclaredInPxd(EnumMeta):
    # The members stand in the .pxd alone.
    def __getattr__(cls, name: str) -> Any: ...

class PacketFate(IntEnum, metaclass=_DeclaredInPxd): ...  # type: ignore[misc]

class PacketRecord(NamedTuple):
    fate: PacketFate
    cause: int
    time_ns: int
    number: int
    source: tuple[str, int]
    target: tuple[str, int]
    length: int
    payload: bytes

class PacketTrace: ...

@final
class PacketLog(PacketTrace):
    count: int
    def __init__(self, capacity: int, *, snap_length: int = 64) -> None: ...
    def records(self) -> list[PacketRecord]: ...
