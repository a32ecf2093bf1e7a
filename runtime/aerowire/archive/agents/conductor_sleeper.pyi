from collections.abc import Iterable
from typing import final

from typing_extensions import Buffer

from aerowire.archive.agents.agent_events import AgentEvents
from aerowire.archive.agents.position_answers import PositionAnswers
from aerowire.base.idle import IdleStrategy
from aerowire.base.ports import ClockPort
from aerowire.client.subscriptions.image import Image

@final
class ConductorSleeper:
    def __init__(
        self,
        strategy: IdleStrategy,
        clock: ClockPort,
        events: AgentEvents,
        to_clients: Buffer,
        positions: PositionAnswers | None = None,
    ) -> None: ...
    def watch(self, images: Iterable[Image]) -> None: ...
    def has_answers(self) -> bool: ...
    def has_news(self) -> bool: ...
    def sleep(self, timeout_ns: int) -> None: ...
    def take_slept_ns(self) -> int: ...
    def wake(self) -> None: ...
    def start_over(self, *, awaits_answer: bool = False) -> None: ...
