from typing import final

from aerowire.base.ports import DatagramPort
from aerowire.driver.system_counters import SystemCounters

@final
class ReceiveEndpoint:
    receiver_id: int
    group_tag: int
    has_group_tag: bool
    ttl: int
    channel: str
    def __init__(
        self,
        port: DatagramPort,
        system: SystemCounters,
        *,
        receiver_id: int,
        group_tag: int | None = None,
        stream_session_limit: int | None = None,
        multicast_control: tuple[str, int] | None = None,
        explicit_control: tuple[str, int] | None = None,
        ttl: int = 0,
        channel: str = "",
    ) -> None: ...
    def close(self) -> None: ...
    @property
    def port(self) -> DatagramPort: ...
    @property
    def local_address(self) -> tuple[str, int] | None: ...
