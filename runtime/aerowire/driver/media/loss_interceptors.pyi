from typing import final

class LossInterceptor: ...

@final
class RandomLoss(LossInterceptor):
    def __init__(self, *, rate: float = 0.0, seed: int = 0, types: int = 0) -> None: ...

class GapLoss(LossInterceptor): ...

@final
class FixedLoss(GapLoss):
    def __init__(self, *, term_id: int = 0, term_offset: int = 0, length: int = 0) -> None: ...

@final
class MultiGapLoss(GapLoss):
    def __init__(self, *, term_id: int = 0, gap_radix: int, gap_length: int = 0, total_gaps: int = 0) -> None: ...
