from typing import final

from aerowire.agents.event_log import EventLog
from aerowire.protocol.min_flow_control import GroupWatcher

@final
class StreamEvents(GroupWatcher):
    def __init__(self, log: EventLog, session_id: int, stream_id: int, channel: str) -> None: ...
