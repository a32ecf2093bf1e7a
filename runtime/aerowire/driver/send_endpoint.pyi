from typing import final

from aerowire.base.ports import DatagramPort
from aerowire.driver.system_counters import SystemCounters

@final
class SendEndpoint:
    group: bool
    ttl: int
    channel: str
    def __init__(self, port: DatagramPort, system: SystemCounters, *, ttl: int = 0, group: bool = False, channel: str = "") -> None: ...
    def close(self) -> None: ...
    @property
    def port(self) -> DatagramPort: ...
    @property
    def local_address(self) -> tuple[str, int] | None: ...
