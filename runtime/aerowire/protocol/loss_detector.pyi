from typing import final

from aerowire.protocol.delay import DelayGenerator

@final
class LossDetector:
    term_id: int
    term_offset: int
    length: int
    deadline_ns: int
    def __init__(self, delay: DelayGenerator) -> None: ...
    def on_gap(self, term_id: int, term_offset: int, length: int, now_ns: int) -> bool: ...
    def on_no_gap(self) -> None: ...
    def poll_report(self, now_ns: int) -> bool: ...
