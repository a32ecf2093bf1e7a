from typing import final

from aerowire.base.ports import DatagramPort
from aerowire.driver.channel_endpoint import ChannelEndpoint
from aerowire.driver.system_counters import SystemCounters

@final
class SendEndpoint(ChannelEndpoint):
    group: bool
    def __init__(self, port: DatagramPort, system: SystemCounters, *, ttl: int = 0, group: bool = False, channel: str = "") -> None: ...
