from typing import final

from aerowire.base.ports import DatagramPort
from aerowire.driver.channel_endpoint import ChannelEndpoint
from aerowire.driver.system_counters import SystemCounters

@final
class ReceiveEndpoint(ChannelEndpoint):
    receiver_id: int
    group_tag: int
    has_group_tag: bool
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
