from enum import IntEnum

from typing_extensions import disjoint_base

from aerowire.agents.queued_agent import QueuedAgent
from aerowire.archive.agents.agent_events import AgentEvents
from aerowire.archive.agents.cycle_counters import CycleCounters
from aerowire.archive.agents.transfer_counters import TransferCounters
from aerowire.base.ports import ClockPort

class SessionOperation(IntEnum):
    ADD_SESSION = ...
    STOP_SESSION = ...

@disjoint_base
class SessionAgent(QueuedAgent):
    def __init__(self, events: AgentEvents, clock: ClockPort, totals: TransferCounters, cycles: CycleCounters | None = None) -> None: ...
    @property
    def session_count(self) -> int: ...
