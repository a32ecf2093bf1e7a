from enum import IntEnum
from typing import final

from aerowire.agents.queued_agent import QueuedAgent
from aerowire.archive.agents.agent_events import AgentEvents
from aerowire.archive.agents.cycle_counters import CycleCounters
from aerowire.archive.agents.transfer_counters import TransferCounters
from aerowire.base.ports import ClockPort

class ReplayerOperation(IntEnum):
    ADD_REPLAY = ...
    ABORT_REPLAY = ...

@final
class Replayer(QueuedAgent):
    def __init__(self, events: AgentEvents, clock: ClockPort, totals: TransferCounters, cycles: CycleCounters | None = None) -> None: ...
    @property
    def role_name(self) -> str: ...
    @property
    def replay_count(self) -> int: ...
