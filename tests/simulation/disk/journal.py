"""A journal on a files port: what the simulated disk is tried on, and a small example of how state is kept on a disk that may fail.

`append` returns when its entry cannot be lost, `trim` when the oldest entries are gone. A journal that is opened again has every entry that
was appended and not trimmed, in order, and the effect of a call that did not return or of none.

The file begins with the number of its first entry and a checksum; then entries follow, each as its number, its length, the checksum of
these and its bytes. The whole file is replaced when it is opened and when it is trimmed: written under another name, synced, renamed, and
then the directory is synced. A sync that failed says that nothing since the last good one is on the disk, whatever a later sync says: the
journal is of no use any more, and is opened again, which writes all that can be read anew.
"""

from __future__ import annotations

import struct
import zlib

from aerowire.base.errors import MissingFileError
from aerowire.base.file_port import FilePort, OpenFile

BEGINNING = struct.Struct("<QI")  # number of the first entry, CRC-32 of it
HEADER = struct.Struct("<QII")  # number, length, CRC-32 of both and the bytes
NAME, UNFINISHED = "journal", "journal.tmp"


class JournalDamagedError(Exception):
    """The file does not begin as a journal does."""


class JournalFailedError(Exception):
    """The disk failed: the journal has to be opened again."""


class Journal:
    """The journal of a directory: `entries`, of which the first has the number `first`."""

    def __init__(self, files: FilePort, directory: str) -> None:
        """Open a journal, or begin one. Raises JournalFailedError where the disk fails, JournalDamagedError."""
        self._files = files
        self._directory = directory
        self.first = 0
        self.entries: list[bytes] = []
        self._file: OpenFile | None = None
        self._length = 0
        try:
            self._recover()
            self._replace()
        except OSError as error:
            raise JournalFailedError(str(error)) from error

    def append(self, entry: bytes) -> None:
        """Return when an entry is on the disk. Raises JournalFailedError, after which nothing can be done but to open the journal again."""
        file = self._take_file()
        try:
            record = encode(self.first + len(self.entries), entry)
            file.write_all(self._length, record)
            file.sync(data_only=True)
        except OSError as error:
            file.close()
            raise JournalFailedError(str(error)) from error
        self._file = file
        self._length += len(record)
        self.entries.append(entry)

    def trim(self, count: int) -> None:
        """Return when the first `count` entries are gone. Raises JournalFailedError, as `append` does."""
        former = self._take_file()
        self.first += count
        del self.entries[:count]
        try:
            self._replace()
        except OSError as error:
            raise JournalFailedError(str(error)) from error
        finally:
            former.close()

    def close(self) -> None:
        self._take_file().close()

    def _take_file(self) -> OpenFile:
        # It is put back by the calls that succeed.
        file, self._file = self._file, None
        if file is None:
            raise JournalFailedError("an earlier call failed, or the journal is closed: open it again")
        return file

    def _replace(self) -> None:
        content = encode_beginning(self.first) + b"".join(encode(self.first + index, entry) for index, entry in enumerate(self.entries))
        file = self._files.open(f"{self._directory}/{UNFINISHED}", writable=True, create=True)
        try:
            file.truncate(0)
            file.write_all(0, content)
            file.sync()
            self._files.rename(f"{self._directory}/{UNFINISHED}", f"{self._directory}/{NAME}")
            self._files.sync_directory(self._directory)
        except OSError:
            file.close()
            raise
        self._file, self._length = file, len(content)

    def _recover(self) -> None:
        # Behind the last whole entry may be a part of one, or what its pages held before.
        try:
            with self._files.open(f"{self._directory}/{NAME}") as file:
                content = file.read(0, file.length())
        except MissingFileError:
            return
        if content[: BEGINNING.size] != encode_beginning(int.from_bytes(content[:8], "little")):
            raise JournalDamagedError(f"{self._directory}/{NAME}: no journal begins so: {content[: BEGINNING.size].hex()}")
        self.first = int.from_bytes(content[:8], "little")
        offset = BEGINNING.size
        while offset + HEADER.size <= len(content):
            number, length, check = HEADER.unpack_from(content, offset)
            entry = content[offset + HEADER.size : offset + HEADER.size + length]
            if number != self.first + len(self.entries) or len(entry) != length:
                return
            if check != checksum(number, entry):
                return
            self.entries.append(entry)
            offset += HEADER.size + length


def encode_beginning(first: int) -> bytes:
    return BEGINNING.pack(first, zlib.crc32(first.to_bytes(8, "little")))


def encode(number: int, entry: bytes) -> bytes:
    return HEADER.pack(number, len(entry), checksum(number, entry)) + entry


def checksum(number: int, entry: bytes) -> int:
    return zlib.crc32(entry, zlib.crc32(struct.pack("<QI", number, len(entry))))
