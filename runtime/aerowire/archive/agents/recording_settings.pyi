from os import PathLike
from typing import final

from aerowire.archive.agents.transfer_settings import TransferSettings
from aerowire.archive.files.checksum import Checksum
from aerowire.base.file_port import FilePort

@final
class RecordingSettings(TransferSettings):
    def __init__(
        self,
        files: FilePort,
        directory: str | PathLike[str],
        *,
        file_io_max_length: int,
        sync_level: int = 0,
        checksum: Checksum | None = None,
        is_preallocated: bool = False,
    ) -> None: ...
    @property
    def sync_level(self) -> int: ...
    @property
    def is_preallocated(self) -> bool: ...
