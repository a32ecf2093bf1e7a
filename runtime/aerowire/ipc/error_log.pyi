from typing import NamedTuple, final

from typing_extensions import Buffer

from aerowire.ipc.damage import Damage

class ErrorObservation(NamedTuple):
    observation_count: int
    first_timestamp_ms: int
    last_timestamp_ms: int
    text: str

@final
class DistinctErrorLog:
    def __init__(self, buffer: Buffer) -> None: ...
    def record(self, text: str, epoch_ms: int, *, key: object = None) -> bool: ...
    @property
    def distinct_count(self) -> int: ...

def read_errors(buffer: Buffer, since_ms: int = 0) -> list[ErrorObservation]: ...
def scan_errors(buffer: Buffer) -> tuple[list[ErrorObservation], Damage | None]: ...
