from dataclasses import dataclass
from enum import EnumMeta, IntEnum
from typing import Any, final

from aerowire.base.ports import ClockPort, RandomPort
from aerowire.simulation.link_faults import LinkFaults

class _DeclaredInPxd(EnumMeta):
    # The members stand in the .pxd alone.
    def __getattr__(cls, name: str) -> Any: ...

class LossCause(IntEnum, metaclass=_DeclaredInPxd): ...  # type: ignore[misc]

@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCounts:
    sent: int
    duplicated: int
    replayed: int
    copied: int
    delivered: int
    refused: int
    in_flight: int
    lost: dict[LossCause, int]

@final
class LinkTable:
    def __init__(self, clock: ClockPort, random: RandomPort) -> None: ...
    def set(self, source: str | None, destination: str | None, faults: LinkFaults) -> None: ...
    def set_all(self, faults: LinkFaults) -> None: ...
    def get(self, source: str, destination: str) -> LinkFaults: ...
    def clog(self, source: str, destination: str, duration_ns: int) -> None: ...
    def counts(self, source: str | None = None, destination: str | None = None) -> LinkCounts: ...
    @property
    def hosts(self) -> tuple[str, ...]: ...
