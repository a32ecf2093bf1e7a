from typing import final

from aerowire.client.lending.lent_counter import LentCounter

@final
class TransferCounters:
    def __init__(
        self,
        bytes_total: LentCounter | None = None,
        time_total_ns: LentCounter | None = None,
        time_max_ns: LentCounter | None = None,
    ) -> None: ...
