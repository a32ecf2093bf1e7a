from typing import final

from aerowire.ipc.counters import CountersReader
from aerowire.protocol.congestion_control import CongestionControl

@final
class CubicCongestionControl(CongestionControl):
    def __init__(
        self,
        *,
        max_window_length: int,
        mtu: int,
        now_ns: int,
        initial_rtt_ns: int = 100_000,
        measure_rtt: bool = False,
        tcp_mode: bool = False,
        counters: CountersReader | None = None,
        rtt_counter_id: int = -1,
        window_counter_id: int = -1,
    ) -> None: ...
    @property
    def window_length(self) -> int: ...
