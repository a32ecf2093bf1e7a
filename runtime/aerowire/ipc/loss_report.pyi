from typing import NamedTuple, final

from typing_extensions import Buffer

from aerowire.ipc.damage import Damage

class LossEntry(NamedTuple):
    observation_count: int
    total_bytes_lost: int
    first_timestamp_ms: int
    last_timestamp_ms: int
    session_id: int
    stream_id: int
    channel: str
    source: str

@final
class LossReport:
    def __init__(self, buffer: Buffer) -> None: ...
    def create(self, bytes_lost: int, epoch_ms: int, session_id: int, stream_id: int, channel: str, source: str) -> int | None: ...
    def observe(self, entry: int, bytes_lost: int, epoch_ms: int) -> None: ...

def read_loss(buffer: Buffer) -> list[LossEntry]: ...
def scan_loss(buffer: Buffer) -> tuple[list[LossEntry], Damage | None]: ...
