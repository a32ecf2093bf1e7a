from typing import final

from aerowire.archive.agents.position_bound import PositionBound
from aerowire.archive.agents.recording_session import RecordingSession
from aerowire.archive.agents.transfer_settings import TransferSettings
from aerowire.client.lending.lent_publication import LentPublication

@final
class ReplaySession:
    def __init__(
        self,
        publication: LentPublication,
        settings: TransferSettings,
        *,
        recording_id: int,
        position: int,
        limit_position: int,
        start_position: int,
        stop_position: int,
        source: RecordingSession | None = None,
        bound: PositionBound | None = None,
        initial_term_id: int,
        stream_id: int,
        term_length: int,
        segment_length: int,
        connect_timeout_ns: int,
        file_io_max_length: int = 0,
    ) -> None: ...
    @property
    def publication(self) -> LentPublication: ...
    @property
    def recording_id(self) -> int: ...
