from typing import NamedTuple, final

from typing_extensions import Buffer

MORE: int
EMPTY: int
IMPLAUSIBLE: int
FOREIGN: int
CHECKSUM: int

class Walked(NamedTuple):
    offset: int
    end: int
    last_offset: int

@final
class FrameWalk:
    def __init__(
        self,
        *,
        term_length: int,
        initial_term_id: int,
        stream_id: int,
        checksum_kind: int = ...,
        unsealed_session_id: int | None = ...,
    ) -> None: ...
    def pass_unsealed(self, session_id: int) -> None: ...
    def walk(self, data: Buffer, position: int) -> Walked: ...
    def seal(self, data: Buffer, position: int) -> Walked: ...
