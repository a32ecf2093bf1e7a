"""What the mark files of one kind of component have in common: names, layout, version, and how their headers are read.

A mark file tells who uses a directory, and holds the error log of the component. A link file in the component's directory names the
directory of the mark file where that is another. Files are read, never mapped, here. Aeron: MarkFile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from aerowire.base.errors import AerowireError, MissingFileError

if TYPE_CHECKING:
    from aerowire.agents.directory_lock import DirectoryOwner
    from aerowire.base.file_port import FilePort

_ERROR_LOG_LENGTH_MAX = 1 << 30
_LINK_LENGTH_MAX = 4096


class MarkFields(Protocol):
    """What every mark file tells. `offset` is where its fields begin: 0 without a message header. Timestamps are epoch milliseconds."""

    @property
    def offset(self) -> int: ...
    @property
    def version(self) -> int: ...
    @property
    def activity_timestamp_ms(self) -> int: ...
    @property
    def start_timestamp_ms(self) -> int: ...
    @property
    def pid(self) -> int: ...
    @property
    def header_length(self) -> int: ...
    @property
    def error_buffer_length(self) -> int: ...


HeaderT = TypeVar("HeaderT", bound=MarkFields)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkKind(Generic[HeaderT]):
    """The mark files of one kind of component. `decode` returns the header that stands at the start of a file's bytes.

    `encoder` is the class of its header's encoder, with the places of the fields. A component that could not start leaves
    `failed_version`, if its kind has one. `error_log_name` is what the names of files begin with to which errors are saved.
    """

    owner: DirectoryOwner
    file_error: type[AerowireError]
    file_name: str
    link_file_name: str
    lock_file_name: str
    error_log_name: str
    version: int
    failed_version: int | None = None
    header_length: int
    message_header_length: int
    liveness_timeout_ms: int
    encoder: type[Any]
    decode: Callable[[bytes, Path], HeaderT]
    other_version_hint: str | None = None

    def directory(self, files: FilePort, component_directory: Path) -> Path:
        """Return the directory of a component's mark file: its own, or the one that its link file names. Raises FileError."""
        try:
            with files.open(component_directory / self.link_file_name) as file:
                text = file.read(0, _LINK_LENGTH_MAX).decode("utf-8", "surrogateescape").strip()
        except MissingFileError:
            return component_directory
        return Path(text) if text else component_directory

    def path(self, files: FilePort, component_directory: Path) -> Path:
        """Return the path of a component's mark file. Raises FileError."""
        return self.directory(files, component_directory) / self.file_name

    def write_link(self, files: FilePort, component_directory: Path, directory: Path) -> None:
        """Make the link file that names the mark file's directory, or delete it where that is the component's own. Raises FileError."""
        link = component_directory / self.link_file_name
        if files.real_path(directory) == files.real_path(component_directory):
            files.delete(link)
            return
        updated = link.with_name(link.name + ".updated")
        with files.open(updated, writable=True, create=True) as file:
            file.truncate(0)
            file.write_all(0, files.real_path(directory).encode("utf-8", "surrogateescape"))
            file.sync()
        files.rename(updated, link)

    def read_header(self, files: FilePort, path: Path) -> HeaderT | None:
        """Return a file's header; None where there is no file, or one of a component that died before it had written anything.

        Raises the kind's error for a damaged file, FileError.
        """
        try:
            with files.open(path) as file:
                data = file.read(0, self.header_length)
        except MissingFileError:
            return None
        return self.decode(data, path) if any(data) else None

    def read(self, files: FilePort, path: Path) -> tuple[HeaderT, bytes]:
        """Return the header of a file and its error log. Raises the kind's error for a damaged file, FileError, MissingFileError."""
        with files.open(path) as file:
            header = self.decode(file.read(0, self.header_length), path)
            if not header.header_length >= 0 or not 0 <= header.error_buffer_length <= _ERROR_LOG_LENGTH_MAX:
                raise self.file_error(
                    "the mark file is damaged",
                    where=f"{path}, offset {header.offset}",
                    expected="an error log within the file",
                    actual=f"{header.error_buffer_length} bytes from {header.header_length} on",
                )
            length = min(header.error_buffer_length, max(file.length() - header.header_length, 0))
            return header, file.read(header.header_length, length)


def has_message_header(data: bytes, header: type[Any], fields: type[Any]) -> bool:
    """Return whether a mark file begins with a message header, as newer ones do; the classes decode its header and its fields."""
    if len(data) < header.ENCODED_LENGTH:
        return False
    found = header().wrap(data)
    return bool((found.template_id, found.schema_id) == (fields.SBE_TEMPLATE_ID, fields.SBE_SCHEMA_ID))
