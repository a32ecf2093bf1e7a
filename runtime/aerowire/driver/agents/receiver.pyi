from typing import final

from aerowire.base.ports import ClockPort
from aerowire.driver.agents.agent_base import DriverAgent
from aerowire.driver.queues.events import EventQueue
from aerowire.driver.queues.system_counters import SystemCounters

@final
class Receiver(DriverAgent):
    def __init__(
        self,
        *,
        clock: ClockPort,
        system: SystemCounters,
        events: EventQueue,
        batch: int = 4,
        cycle_threshold_ns: int = 100_000_000,
        reresolution_check_interval_ns: int = 1_000_000_000,
    ) -> None: ...
    @property
    def role_name(self) -> str: ...

# The operations that the .pxd declares.
def __getattr__(name: str) -> int: ...
