from typing import final

from aerowire.base.ports import ClockPort
from aerowire.driver.agents.agent_base import DriverAgent
from aerowire.driver.media.send_endpoint import SendEndpoint
from aerowire.driver.queues.events import EventQueue
from aerowire.driver.queues.system_counters import SystemCounters
from aerowire.driver.streams.network_publication import NetworkPublication

@final
class Sender(DriverAgent):
    def __init__(
        self,
        *,
        clock: ClockPort,
        system: SystemCounters,
        events: EventQueue,
        poll_ratio: int = 6,
        batch: int = 4,
        status_message_timeout_ns: int = 200_000_000,
        cycle_threshold_ns: int = 100_000_000,
        reresolution_check_interval_ns: int = 1_000_000_000,
    ) -> None: ...
    @property
    def role_name(self) -> str: ...
    def add_endpoint(self, endpoint: SendEndpoint) -> None: ...
    def remove_endpoint(self, endpoint: SendEndpoint) -> None: ...
    def add_destination(
        self, endpoint: SendEndpoint, registration_id: int, address: tuple[str, int] | tuple[str, int, int, int]
    ) -> None: ...
    def remove_destination(self, endpoint: SendEndpoint, registration_id: int) -> None: ...
    def update_destination(
        self, endpoint: SendEndpoint, registration_id: int, address: tuple[str, int] | tuple[str, int, int, int]
    ) -> None: ...
    def add_publication(self, publication: NetworkPublication) -> None: ...
    def remove_publication(self, publication: NetworkPublication) -> None: ...
