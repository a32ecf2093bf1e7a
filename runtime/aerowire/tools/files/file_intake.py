"""What comes of the messages of a stream that carries files: whole files in a folder, and a count of what was none. Aeron: FileReceiver.

Knows messages and the folder; nothing of clients, clocks and what is shown. Whatever a message holds, nothing is raised.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from aerowire.codecs.flyweights.files import FILE_PROTOCOL_VERSION, FileChunkDecoder, FileCreateDecoder, FileMessageDecoder, FileMessageType
from aerowire.process.interruption import deferred
from aerowire.tools.files.file_store import Folder, NotStoredError, PartialFile

RECEIVED, REFUSED, INCOMPLETE, FAILED = "received", "refused", "incomplete", "failed"

# Files that may come at once. A sender sends one after the other; more than this is somebody who opens and never sends.
FILES_MAX = 256

# A file is known by its session too: correlation ids are distinct within one driver only.
_Key = tuple[int, int]


class Header(Protocol):
    """What is asked of a fragment's header."""

    @property
    def session_id(self) -> int:
        """The publication's session."""
        ...


class Ending(NamedTuple):
    """What became of one file. `path` is where it, or what is left of it, lies."""

    outcome: str
    name: str
    path: Path | None
    length: int
    received: int
    reason: str
    session_id: int
    correlation_id: int


@dataclass
class Incoming:
    """A file that has begun. Without a partial file its end is known already, and what still comes of it is dropped."""

    name: str
    length: int
    partial: PartialFile | None
    received: int = 0


@dataclass
class FileIntake:
    """The files of all sessions of a subscription; call it with each message.

    Invariant: every file that begins is among `endings` exactly once.
    """

    folder: Folder
    keeps_partial: bool = False
    files: dict[_Key, Incoming] = field(default_factory=dict)
    endings: list[Ending] = field(default_factory=list)
    bad: Counter[str] = field(default_factory=Counter)
    # The first message of each kind that is bad, in words; no more than there are kinds.
    news: list[str] = field(default_factory=list)
    begun: int = 0

    def __call__(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        """Take a whole message."""
        try:
            message = FileMessageDecoder(buffer, offset, length)
            kind = message.type
            if message.version != FILE_PROTOCOL_VERSION:
                self._count("another version", f"version {message.version}, expected {FILE_PROTOCOL_VERSION}", header)
            elif kind == FileMessageType.CHUNK:
                self._on_chunk(FileChunkDecoder(buffer, offset, length), header)
            elif kind == FileMessageType.CREATE:
                self._on_create(FileCreateDecoder(buffer, offset, length), header)
            else:
                self._count("an unknown type", f"type {kind}, expected {[member.value for member in FileMessageType]}", header)
        except ValueError:
            self._count("a wrong length", f"{length:,} bytes, fewer than it says or needs", header)

    def on_session_end(self, session_id: int) -> None:
        """End the files of a sender that has gone."""
        for key in [key for key in self.files if key[0] == session_id]:
            self._end(key, INCOMPLETE, "the sender has gone")
            self.files.pop(key)

    def close(self, reason: str) -> None:
        """End all files that are not whole."""
        for key in list(self.files):
            self._end(key, INCOMPLETE, reason)
            self.files.pop(key)

    def sessions(self) -> set[int]:
        """Return the sessions that have begun a file and not ended it."""
        return {session_id for session_id, _ in self.files}

    def take_endings(self) -> list[Ending]:
        """Return what has ended since the last call."""
        endings, self.endings = self.endings, []
        return endings

    def take_news(self) -> list[str]:
        """Return what there is to say of bad messages since the last call."""
        news, self.news = self.news, []
        return news

    def _on_create(self, message: FileCreateDecoder, header: Header) -> None:
        key = (header.session_id, message.correlation_id)
        name, length = message.file_name, message.file_length
        if length < 0:
            return self._count("a negative file length", f"file length {length}", header)
        if key in self.files:
            return self._count("a file that has begun already", f"correlation id {key[1]} again", header)
        if len(self.files) >= FILES_MAX:
            return self._tell(key, Incoming(name, length, None), REFUSED, None, f"{FILES_MAX} others have begun and not ended")
        self.begun += 1
        with deferred():  # a partial file that is not among `files` yet would be left behind
            try:
                incoming = self.files[key] = Incoming(name, length, self.folder.begin(name, length))
            except NotStoredError as error:
                incoming = self.files[key] = Incoming(name, length, None)
                self._tell(key, incoming, REFUSED, None, str(error))
        if length == 0:
            self._end(key, RECEIVED)
            self.files.pop(key)
        return None

    def _on_chunk(self, message: FileChunkDecoder, header: Header) -> None:
        key = (header.session_id, message.correlation_id)
        incoming = self.files.get(key)
        if incoming is None:
            return self._count("a chunk of a file whose beginning has not come", f"correlation id {key[1]}", header)
        payload, offset = message.payload, message.chunk_offset
        if incoming.partial is not None:
            self._store(key, incoming, offset, payload)
        if offset + len(payload) >= incoming.length:
            self._end(key, RECEIVED)
            self.files.pop(key)
        return None

    def _store(self, key: _Key, incoming: Incoming, offset: int, payload: memoryview) -> None:
        assert incoming.partial is not None
        if offset != incoming.received:
            return self._end(key, FAILED, f"a chunk at {offset:,}, expected at {incoming.received:,}")
        if offset + len(payload) > incoming.length:
            return self._end(key, FAILED, f"{offset + len(payload):,} bytes of it, expected {incoming.length:,}")
        try:
            incoming.partial.write(payload)
        except NotStoredError as error:
            return self._end(key, FAILED, str(error))
        incoming.received += len(payload)
        return None

    def _end(self, key: _Key, outcome: str, reason: str = "") -> None:
        """End a file, unless its end is known already."""
        with deferred():  # else it could be neither ended nor told
            incoming = self.files[key]
            partial, incoming.partial = incoming.partial, None
            if partial is not None:
                self._settle(key, incoming, partial, outcome, reason)

    def _settle(self, key: _Key, incoming: Incoming, partial: PartialFile, outcome: str, reason: str) -> None:
        path: Path | None = None
        if outcome == RECEIVED:
            try:
                path = partial.complete()
            except NotStoredError as error:
                outcome, reason = FAILED, str(error)
        if path is None:
            path = partial.discard(keep=self.keeps_partial)
        self._tell(key, incoming, outcome, path, reason)

    def _tell(self, key: _Key, incoming: Incoming, outcome: str, path: Path | None, reason: str) -> None:
        self.endings.append(Ending(outcome, incoming.name, path, incoming.length, incoming.received, reason, *key))

    def _count(self, kind: str, what: str, header: Header) -> None:
        self.bad[kind] += 1
        if self.bad[kind] == 1:
            self.news.append(f"session {header.session_id}: a message with {kind} is dropped: {what}; others like it are only counted")
