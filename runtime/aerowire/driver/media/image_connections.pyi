from typing import final

@final
class ImageConnections:
    def __init__(self, *, index: int, control_address: tuple[str, int] | None, now_ns: int) -> None: ...
