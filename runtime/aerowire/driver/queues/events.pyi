from collections.abc import Sequence
from enum import EnumMeta, IntEnum
from typing import Any, final

from aerowire.agents.event_ring import EventRing

class _DeclaredInPxd(EnumMeta):
    # The members stand in the .pxd alone.
    def __getattr__(cls, name: str) -> Any: ...

class EventType(IntEnum, metaclass=_DeclaredInPxd): ...  # type: ignore[misc]
class NativeErrorCode(IntEnum, metaclass=_DeclaredInPxd): ...  # type: ignore[misc]

class Event:
    type: EventType
    subject: object
    values: Sequence[int]
    control_address: tuple[str, int] | None
    source_address: tuple[str, int] | None
    message: str
    def __init__(
        self,
        type: EventType,
        subject: object,
        values: Sequence[int],
        control_address: tuple[str, int] | None = None,
        source_address: tuple[str, int] | None = None,
        message: str = "",
    ) -> None: ...

@final
class EventQueue(EventRing):
    def __init__(self, capacity: int = 1024) -> None: ...
    def poll(self, limit: int = 64) -> list[Event]: ...
