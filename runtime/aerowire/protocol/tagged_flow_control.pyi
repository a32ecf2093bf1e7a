from typing import final

from aerowire.ipc.counters import CountersReader
from aerowire.protocol.min_flow_control import GroupWatcher, MinFlowControl

@final
class TaggedFlowControl(MinFlowControl):
    def __init__(
        self,
        retransmit_window_multiple: int,
        initial_window_length: int,
        *,
        receiver_timeout_ns: int,
        group_tag: int,
        legacy_tag: int = -1,
        group_min_size: int = 0,
        counters: CountersReader | None = None,
        receivers_counter_id: int = -1,
        watcher: GroupWatcher | None = None,
    ) -> None: ...
