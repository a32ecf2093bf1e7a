from aerowire.base.ports import RandomPort

class SeededRandom(RandomPort):
    def __init__(self, seed: int | None = None) -> None: ...
