from typing import final

from aerowire.ipc.loss_report import LossReport

@final
class LossReporter:
    def __init__(
        self, report: LossReport | None, *, session_id: int, stream_id: int, initial_term_id: int, channel: str, source: str
    ) -> None: ...
