from typing import final

from aerowire.base.ports import ClockPort, DatagramPort
from aerowire.driver.media.channel_endpoint import ChannelEndpoint
from aerowire.driver.queues.events import EventQueue
from aerowire.driver.queues.system_counters import SystemCounters
from aerowire.ipc.counters import CountersReader
from aerowire.protocol.destinations import Destinations

PUBLICATIONS_MAX: int
NO_STAMP_OFFSET: int

@final
class SendEndpoint(ChannelEndpoint):
    @property
    def group(self) -> bool: ...
    @property
    def is_named(self) -> bool: ...
    def __init__(
        self,
        port: DatagramPort,
        system: SystemCounters,
        *,
        ttl: int = 0,
        group: bool = False,
        channel: str = "",
        peer: tuple[str, int] | tuple[str, int, int, int] | None = None,
        destinations: Destinations | None = None,
        counters: CountersReader | None = None,
        destination_count_id: int = -1,
        status_id: int = -1,
        named: bool = False,
        stamp_clock: ClockPort | None = None,
        stamp_offset: int = -1,
        now_ns: int = 0,
        events: EventQueue | None = None,
    ) -> None: ...

@final
class DestinationChange:
    def __init__(
        self, endpoint: SendEndpoint, registration_id: int, address: tuple[str, int] | tuple[str, int, int, int] | None = None
    ) -> None: ...
