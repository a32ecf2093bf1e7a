from typing import final

from aerowire.archive.agents.recording_settings import RecordingSettings
from aerowire.client.lending.lent_counter import LentCounter
from aerowire.client.lending.lent_image import LentImage

@final
class RecordingSession:
    def __init__(
        self,
        image: LentImage,
        position: LentCounter,
        settings: RecordingSettings,
        *,
        recording_id: int,
        start_position: int,
        term_length: int,
        segment_length: int,
    ) -> None: ...
    @property
    def image(self) -> LentImage: ...
    @property
    def position_counter(self) -> LentCounter: ...
    @property
    def recording_id(self) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def is_ended(self) -> bool: ...
