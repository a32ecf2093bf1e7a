from typing import final

from aerowire.protocol.delay import DelayGenerator

IGNORED: int
RESEND: int
SCHEDULED: int
OVERFLOW: int

@final
class RetransmitHandler:
    resend_term_id: int
    resend_term_offset: int
    resend_length: int
    rest_offset: int
    rest_length: int
    def __init__(self, delay: DelayGenerator, linger: DelayGenerator, *, group: bool, max_resend: int) -> None: ...
    def on_nak(self, term_id: int, term_offset: int, length: int, now_ns: int, later: bool = False) -> int: ...
    def poll_resend(self, now_ns: int) -> bool: ...
    def next_deadline_ns(self) -> int: ...
    @property
    def active_count(self) -> int: ...
