from typing import final

from aerowire.base.ports import DatagramPort
from aerowire.driver.capture_port import OuterPort
from aerowire.driver.event_log import EventLog

@final
class EventPort(OuterPort):
    def __init__(self, inner: DatagramPort, log: EventLog, *, remote: tuple[str, int] | None = None) -> None: ...
