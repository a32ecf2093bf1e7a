from typing import final

from typing_extensions import Buffer

from aerowire.base.ports import WakeupPort
from aerowire.base.runner import NativeAgent
from aerowire.ipc.counters import CountersReader
from aerowire.ipc.ring_buffer import ManyToOneRingBuffer

OK: int
DRIVER_TIMEOUT: int
DRIVER_SHUTDOWN: int
HEARTBEAT_LOST: int
SERVICE_TIMEOUT: int

@final
class KeepaliveAgent(NativeAgent):
    def __init__(
        self,
        ring: ManyToOneRingBuffer,
        counters: CountersReader,
        to_clients: Buffer,
        wakeup: WakeupPort,
        *,
        client_id: int,
        driver_timeout_ms: int,
        interval_ns: int,
        service_timeout_ns: int,
    ) -> None: ...
    @property
    def liveness(self) -> int: ...
    @property
    def heartbeat_counter_id(self) -> int: ...
    @property
    def heartbeat_age_ms(self) -> int: ...
    @property
    def service_gap_ns(self) -> int: ...
    @property
    def last_cycle_ns(self) -> int: ...
    def retire(self) -> None: ...
