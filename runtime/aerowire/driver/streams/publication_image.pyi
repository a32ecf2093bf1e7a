from collections.abc import Iterable, Mapping
from typing import final

from aerowire.base.ports import ClockPort
from aerowire.driver.event_log.stream_events import StreamEvents
from aerowire.driver.media.receive_endpoint import ReceiveEndpoint
from aerowire.driver.queues.system_counters import SystemCounters
from aerowire.driver.streams.subscribable import Subscribable
from aerowire.ipc.counters import CountersReader
from aerowire.ipc.loss_report import LossReport
from aerowire.logbuffer.log import LogBuffers
from aerowire.protocol.congestion_control import CongestionControl
from aerowire.protocol.delay import DelayGenerator
from aerowire.protocol.untethered import UntetheredTimes

@final
class PublicationImage(Subscribable):
    @property
    def correlation_id(self) -> int: ...
    @property
    def session_id(self) -> int: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def initial_term_id(self) -> int: ...
    @property
    def source_identity(self) -> str: ...
    def __init__(
        self,
        log: LogBuffers,
        endpoint: ReceiveEndpoint,
        counters: CountersReader,
        system: SystemCounters,
        *,
        correlation_id: int,
        session_id: int,
        stream_id: int,
        initial_term_id: int,
        active_term_id: int,
        term_offset: int,
        control_address: tuple[str, int] | None,
        hwm_position_id: int,
        rebuild_position_id: int,
        naks_sent_id: int,
        subscriber_position_ids: Iterable[tuple[int, int]],
        congestion_control: CongestionControl,
        now_ns: int,
        transport_index: int = 0,
        nak_delay_ns: int = 1000,
        nak_retry_ns: int | None = None,
        delay: DelayGenerator | None = None,
        reliable: bool = True,
        image_liveness_timeout_ns: int = 10_000_000_000,
        status_message_timeout_ns: int = 200_000_000,
        loss_report: LossReport | None = None,
        source_identity: str = "",
        clock: ClockPort | None = None,
        untethered: UntetheredTimes | None = None,
        tethers: Mapping[int, int] | None = None,
        stamp_offset: int | None = None,
        stream_events: StreamEvents | None = None,
    ) -> None: ...
    def tell_response(self, response_session_id: int | None) -> None: ...
    def end_lost(self) -> None: ...
    def reject(self, reason: str) -> None: ...
    @property
    def state(self) -> int: ...
    @property
    def log(self) -> LogBuffers: ...
    @property
    def endpoint(self) -> ReceiveEndpoint: ...
    @property
    def hwm_position(self) -> int: ...
    @property
    def rebuild_position(self) -> int: ...
    @property
    def accepts_subscribers(self) -> bool: ...
