from typing import final

from aerowire.driver.event_log.stream_events import StreamEvents
from aerowire.driver.queues.system_counters import SystemCounters
from aerowire.driver.streams.subscribable import Subscribable
from aerowire.ipc.counters import CountersReader
from aerowire.logbuffer.log import LogBuffers
from aerowire.protocol.untethered import UntetheredTimes

@final
class IpcPublication(Subscribable):
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
        counters: CountersReader,
        system: SystemCounters,
        *,
        registration_id: int,
        session_id: int,
        stream_id: int,
        initial_term_id: int,
        publisher_position_id: int,
        publisher_limit_id: int,
        mtu: int,
        publication_window: int,
        exclusive: bool,
        now_ns: int,
        unblock_timeout_ns: int = 15_000_000_000,
        cool_down_ns: int = 10_000_000_000,
        untethered: UntetheredTimes | None = None,
        stream_events: StreamEvents | None = None,
    ) -> None: ...
    def revoke(self) -> None: ...
    @property
    def state(self) -> int: ...
    @property
    def log(self) -> LogBuffers: ...
    @property
    def producer_position(self) -> int: ...
    @property
    def consumer_position(self) -> int: ...
    @property
    def is_connected(self) -> bool: ...
    @property
    def accepts_subscribers(self) -> bool: ...
