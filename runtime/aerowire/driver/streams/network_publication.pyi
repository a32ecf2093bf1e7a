from typing import final

from aerowire.driver.event_log.stream_events import StreamEvents
from aerowire.driver.media.send_endpoint import SendEndpoint
from aerowire.driver.queues.system_counters import SystemCounters
from aerowire.driver.streams.subscribable import Subscribable
from aerowire.ipc.counters import CountersReader
from aerowire.logbuffer.log import LogBuffers
from aerowire.protocol.flow_control import FlowControl
from aerowire.protocol.untethered import UntetheredTimes

@final
class NetworkPublication(Subscribable):
    @property
    def registration_id(self) -> int: ...
    @property
    def session_id(self) -> int: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def initial_term_id(self) -> int: ...
    @property
    def mtu(self) -> int: ...
    @property
    def is_exclusive(self) -> bool: ...
    def __init__(
        self,
        log: LogBuffers,
        endpoint: SendEndpoint,
        counters: CountersReader,
        system: SystemCounters,
        *,
        registration_id: int,
        session_id: int,
        stream_id: int,
        initial_term_id: int,
        starting_position: int = 0,
        publisher_position_id: int,
        publisher_limit_id: int,
        sender_position_id: int,
        sender_limit_id: int,
        sender_bpe_id: int,
        naks_received_id: int,
        mtu: int,
        publication_window: int,
        exclusive: bool,
        flow_control: FlowControl,
        now_ns: int,
        signal_eos: bool = True,
        max_resend: int = 16,
        retransmit_delay_ns: int = 0,
        retransmit_linger_ns: int = 10_000_000,
        retransmit_byte_rate: int = 0,
        setup_timeout_ns: int = 100_000_000,
        heartbeat_timeout_ns: int = 100_000_000,
        connection_timeout_ns: int = 5_000_000_000,
        linger_ns: int = 5_000_000_000,
        unblock_timeout_ns: int = 15_000_000_000,
        messages_per_send: int = 4,
        response: bool = False,
        asks_for_response: bool = False,
        spies_simulate_connection: bool = False,
        untethered: UntetheredTimes | None = None,
        stream_events: StreamEvents | None = None,
    ) -> None: ...
    def revoke(self) -> None: ...
    @property
    def state(self) -> int: ...
    @property
    def log(self) -> LogBuffers: ...
    @property
    def endpoint(self) -> SendEndpoint: ...
    @property
    def producer_position(self) -> int: ...
    @property
    def consumer_position(self) -> int: ...
    @property
    def is_connected(self) -> bool: ...
    @property
    def accepts_subscribers(self) -> bool: ...
