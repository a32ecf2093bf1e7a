from typing import final

from aerowire.base.ports import ClockPort, DatagramPort

@final
class SimulatedNetwork:
    sent: int
    lost: int
    delivered: int
    overflowed: int
    def __init__(
        self, clock: ClockPort, *, seed: int, loss: float = 0.0, duplicate: float = 0.0, latency_ns: int = 10_000, jitter_ns: int = 0
    ) -> None: ...
    def set_faults(self, *, loss: float = 0.0, duplicate: float = 0.0, latency_ns: int = 10_000, jitter_ns: int = 0) -> None: ...
    def open_port(
        self, bind: tuple[str, int], peer: tuple[str, int] | None = None, group: tuple[str, int] | None = None
    ) -> SimulatedPort: ...
    def next_delivery_ns(self, again_ns: int) -> int: ...
    @property
    def trace_hash(self) -> int: ...

@final
class SimulatedPort(DatagramPort):
    asked_max: int
    def cut(self, off: bool = True) -> None: ...
    def close(self) -> None: ...
    @property
    def is_closed(self) -> bool: ...
