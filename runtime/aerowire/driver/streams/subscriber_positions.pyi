from typing import final

@final
class SubscriberPositions:
    def ids(self) -> list[tuple[int, int]]: ...
