from os import PathLike
from typing import final

from aerowire.archive.files.checksum import Checksum
from aerowire.base.file_port import FilePort

@final
class RecordingSettings:
    def __init__(
        self,
        files: FilePort,
        directory: str | PathLike[str],
        *,
        file_io_max_length: int,
        sync_level: int = 0,
        checksum: Checksum | None = None,
    ) -> None: ...
    @property
    def files(self) -> FilePort: ...
    @property
    def directory(self) -> str: ...
    @property
    def file_io_max_length(self) -> int: ...
    @property
    def sync_level(self) -> int: ...
    @property
    def checksum(self) -> Checksum | None: ...
