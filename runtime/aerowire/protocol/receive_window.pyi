from typing import final

ACCEPT: int
UNDER_RUN: int
RECENT: int
OVER_RUN: int

@final
class ReceiveWindow:
    last_status_position: int
    over_run_threshold: int
    def __init__(self, *, position: int, term_length: int, max_window_length: int) -> None: ...
    def classify_data(self, position: int, length: int) -> int: ...
    def classify_heartbeat(self, position: int) -> int: ...
    def on_status_message_sent(self, position: int) -> None: ...
