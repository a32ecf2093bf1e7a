from typing import final

from aerowire.base.address import AddressTuple
from aerowire.base.ports import DatagramPort
from aerowire.driver.media.channel_endpoint import ChannelEndpoint
from aerowire.driver.media.receive_transport import ReceiveTransport
from aerowire.driver.queues.events import EventQueue
from aerowire.driver.queues.system_counters import SystemCounters

@final
class ReceiveEndpoint(ChannelEndpoint):
    receiver_id: int
    group_tag: int
    has_group_tag: bool
    is_multi_destination: bool
    def __init__(
        self,
        port: DatagramPort | None,
        system: SystemCounters,
        *,
        receiver_id: int,
        group_tag: int | None = None,
        stream_session_limit: int | None = None,
        image_limit: int | None = None,
        image_rate: int = 0,
        multicast_control: AddressTuple = None,
        explicit_control: AddressTuple = None,
        named_control: bool = False,
        ttl: int = 0,
        channel: str = "",
        events: EventQueue | None = None,
    ) -> None: ...
    def hold(self, transport: ReceiveTransport) -> None: ...
    def let_go(self, transport: ReceiveTransport) -> None: ...
    def transport(self, index: int) -> ReceiveTransport | None: ...
