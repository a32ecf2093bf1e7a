from typing import final

SESSION_HEADER_LENGTH: int

@final
class SessionHeader:
    leadership_term_id: int
    def __init__(self) -> None: ...
    def encode(self, session_id: int, timestamp: int) -> bytes: ...
