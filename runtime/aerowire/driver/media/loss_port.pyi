from collections.abc import Iterable
from typing import final

from aerowire.base.ports import DatagramPort
from aerowire.driver.media.capture_port import CaptureTap, OuterPort
from aerowire.driver.media.loss_interceptors import LossInterceptor

@final
class LossRates:
    loss: float
    duplicate: float
    reorder: float
    seed: int | None
    def __init__(self, loss: float = 0.0, duplicate: float = 0.0, reorder: float = 0.0, seed: int | None = None) -> None: ...

@final
class LossLane:
    lost: int
    duplicated: int
    reordered: int
    def __init__(self, rates: LossRates | None = None) -> None: ...

@final
class LossPort(OuterPort):
    def __init__(
        self,
        inner: DatagramPort,
        *,
        incoming: LossRates | None = None,
        outgoing: LossRates | None = None,
        interceptors: Iterable[LossInterceptor] = (),
        tap: CaptureTap | None = None,
    ) -> None: ...
    @property
    def batch_min(self) -> int: ...
    @property
    def incoming(self) -> LossLane: ...
    @property
    def outgoing(self) -> LossLane: ...
