from os import PathLike

from aerowire.archive.files.checksum import Checksum
from aerowire.base.file_port import FilePort

class TransferSettings:
    def __init__(
        self, files: FilePort, directory: str | PathLike[str], *, file_io_max_length: int, checksum: Checksum | None = None
    ) -> None: ...
    @property
    def files(self) -> FilePort: ...
    @property
    def directory(self) -> str: ...
    @property
    def file_io_max_length(self) -> int: ...
    @property
    def checksum(self) -> Checksum | None: ...
