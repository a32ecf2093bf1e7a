from typing_extensions import disjoint_base

from aerowire.base.errors import AerowireError, ForkedProcessError

OPEN: int
CLOSED: int
UNAVAILABLE: int
TERMINATED: int
FORKED: int
KILLED: int

@disjoint_base
class Handle:
    @property
    def is_closed(self) -> bool: ...
    def _end(self, state: int, failure: AerowireError | None = None) -> None: ...
    def _ensure_open(self) -> None: ...
    def take_back(self) -> None: ...

def forked_error(what: object) -> ForkedProcessError: ...
def failure_copy(failure: AerowireError) -> AerowireError: ...
