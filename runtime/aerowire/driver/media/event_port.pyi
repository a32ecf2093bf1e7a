from typing import final

from aerowire.agents.event_log import EventLog
from aerowire.base.ports import DatagramPort
from aerowire.driver.media.capture_port import OuterPort

@final
class EventPort(OuterPort):
    def __init__(self, inner: DatagramPort, log: EventLog, *, remote: tuple[str, int] | None = None) -> None: ...
