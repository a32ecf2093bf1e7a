from typing import final

from aerowire.base.ports import ClockPort
from aerowire.driver.agents.agent_base import DriverAgent
from aerowire.driver.queues.events import EventQueue
from aerowire.driver.queues.system_counters import SystemCounters
from aerowire.driver.streams.ipc_publication import IpcPublication
from aerowire.driver.streams.network_publication import NetworkPublication
from aerowire.driver.streams.publication_image import PublicationImage
from aerowire.driver.streams.subscribable import Subscribable
from aerowire.ipc.ring_buffer import ManyToOneRingBuffer

@final
class ConductorAgent(DriverAgent):
    def __init__(
        self,
        *,
        clock: ClockPort,
        system: SystemCounters,
        events: EventQueue,
        to_driver: ManyToOneRingBuffer | None = None,
        timer_interval_ns: int = 1_000_000_000,
        client_liveness_timeout_ns: int = 10_000_000_000,
        cycle_threshold_ns: int = 100_000_000,
    ) -> None: ...
    @property
    def role_name(self) -> str: ...
    def add_publication(self, publication: IpcPublication | NetworkPublication) -> None: ...
    def close_publication(self, publication: IpcPublication | NetworkPublication, *, abandoned: bool = False) -> None: ...
    def add_image(self, image: PublicationImage) -> None: ...
    def link_subscriber(self, stream: Subscribable, position_id: int, registration_id: int, tether: int = 0) -> None: ...
    def unlink_subscriber(self, stream: Subscribable, position_id: int, registration_id: int) -> None: ...
    def reject_publication(self, publication: IpcPublication) -> None: ...
    def add_client(self, client_id: int, heartbeat_counter_id: int) -> None: ...
    def remove_client(self, client_id: int) -> None: ...
