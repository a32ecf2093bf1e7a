"""Every exception that aerowire raises, under one root.

A message says what failed, where, what was expected, what was found and, where there is one, what to do.
Bad bytes from the network are never an exception: they are counted and dropped.
"""

from __future__ import annotations

import os
from errno import EDQUOT, EEXIST, ENOENT, ENOSPC


class AerowireError(Exception):
    """Root of all errors raised by aerowire.

    `where`, `expected`, `actual` and `hint` are appended to the message when given; `error_code` is the
    peer's wire code (`aerowire.codecs.tables.errors.ErrorCode`) when the error came from a driver.
    """

    error_code: int | None = None

    def __init__(
        self,
        what: str,
        *,
        where: object = None,
        expected: object = None,
        actual: object = None,
        hint: str | None = None,
        error_code: int | None = None,
    ) -> None:
        self.what = what
        self.where = where
        self.expected = expected
        self.actual = actual
        self.hint = hint
        if error_code is not None:
            self.error_code = error_code
        super().__init__(self._render())

    def _render(self) -> str:
        parts = [self.what]
        if self.where is not None:
            parts.append(f"at {self.where}")
        if self.expected is not None:
            parts.append(f"expected {self.expected}")
        if self.actual is not None:
            parts.append(f"got {self.actual}")
        text = "; ".join(parts)
        return f"{text} (hint: {self.hint})" if self.hint else text


class ConfigurationError(AerowireError, ValueError):
    """An option has a value it cannot have, or two options contradict each other."""


class WrongTypeError(ConfigurationError, TypeError):
    """An argument or an option is of a type that it cannot have."""


class UnknownOptionError(ConfigurationError):
    """A property names an option that does not exist."""


class ChannelError(AerowireError, ValueError):
    """A channel URI is not valid."""


class UnknownChannelKeyError(ChannelError):
    """A channel URI holds a parameter that no channel has."""


class ChannelValueError(ChannelError):
    """A parameter of a channel URI has a value it cannot have."""


class UnknownHostError(ChannelError):
    """A host name in a channel does not resolve."""


class PortInUseError(AerowireError, OSError):
    """A UDP port that a channel asks for is bound by somebody else."""


class SocketError(AerowireError, OSError):
    """The operating system refused a socket operation."""


class DriverError(AerowireError):
    """Root of errors about the media driver and its directory."""


class DriverDirectoryMissingError(DriverError, FileNotFoundError):
    """There is no driver directory or cnc file where one was asked for."""


class ForeignDirectoryError(DriverError):
    """A directory or file exists but is not one of this protocol's, or not of a version that can be read."""


class ActiveDriverError(DriverError):
    """A live driver already owns the directory."""


class DriverTimeoutError(DriverError, TimeoutError):
    """The driver's heartbeat is too old, or it did not answer in time."""


class DriverShutdownError(DriverError):
    """The driver said that it has shut down."""


class ClientTimeoutError(DriverError, TimeoutError):
    """The driver declared this client dead, or the client was not serviced in time to stay alive."""


class RegistrationError(DriverError):
    """The driver refused a command; `error_code` says why."""


class ActiveArchiveError(AerowireError):
    """A live archive already owns the directory."""


class ArchiveFileError(AerowireError):
    """A file in an archive's directory is damaged, missing, or not of a version that can be read."""


class ArchiveError(AerowireError):
    """An archive refused a request, or a request to one could not be sent or answered.

    `error_code` is the archive's (`aerowire.codecs.tables.archive_errors.ArchiveErrorCode`), None where it gave none. `request` says in
    words what was asked for, `correlation_id` is the number of the request and `recording_id` its recording; -1 where there is none.
    """

    def __init__(
        self,
        what: str,
        *,
        where: object = None,
        expected: object = None,
        actual: object = None,
        hint: str | None = None,
        error_code: int | None = None,
        request: str = "",
        correlation_id: int = -1,
        recording_id: int = -1,
    ) -> None:
        super().__init__(what, where=where, expected=expected, actual=actual, hint=hint, error_code=error_code)
        self.request = request
        self.correlation_id = correlation_id
        self.recording_id = recording_id


class ArchiveTimeoutError(ArchiveError, TimeoutError):
    """An archive did not answer in time, or could not be connected to in time."""


class ArchiveConnectionError(ArchiveError, ConnectionError):
    """There is no connection to the archive any more, or a request could not be sent on it."""


class ActiveClusterError(AerowireError):
    """A live component of a cluster already owns the mark file."""


class ClusterFileError(AerowireError):
    """A file in a cluster member's directory is damaged, missing, or not of a version that can be read."""


class ClusterError(AerowireError):
    """A cluster refused a client, or a session with one has ended; also the root of such errors."""


class ClusterAuthenticationError(ClusterError):
    """A cluster rejected a client's credentials."""


class ClusterTimeoutError(ClusterError, TimeoutError):
    """A cluster could not be connected to in time, or was without a leader for too long."""


class ClusterConnectionError(ClusterError, ConnectionError):
    """There is no session with the cluster any more."""


class RecordingLogError(AerowireError):
    """A recording log has no such entry, or may not have it."""


class ClusterServiceError(AerowireError):
    """A service container cannot do what the consensus module, the log or its service asks of it."""


class ServiceCallError(ClusterServiceError):
    """A service made a call that is not allowed at that point."""


class ClusterSnapshotError(AerowireError):
    """A snapshot of a cluster is damaged, is not of the kind that was expected, or could not be written."""


class ConsensusModuleError(AerowireError):
    """A consensus module could not do what its election or its log needed, or has ended because of that."""


class StorageSpaceError(AerowireError, OSError):
    """A file system has no room for a file that must be made."""


class CountersFullError(AerowireError):
    """The counters buffer has no free record."""


class MessageTooLongError(AerowireError, ValueError):
    """A message is longer than the publication's maximum."""


class ClosedError(AerowireError):
    """A call on a client, publication, subscription, image or counter that is closed."""


class PublicationClosedError(ClosedError):
    """An offer on a publication that is closed."""


class MaxPositionExceededError(AerowireError):
    """A stream has reached the last position that it can have."""


class NotConnectedError(AerowireError, TimeoutError):
    """A send found no subscriber within its deadline."""


class BackPressureError(AerowireError, TimeoutError):
    """A send found subscribers, but no room within its deadline: they do not keep up."""


class BroadcastLappedError(AerowireError):
    """A receiver of a broadcast buffer fell so far behind that records were overwritten unread."""


class DamagedBufferError(DriverError):
    """A buffer that driver and clients share holds what none of them writes."""


class RingBufferFullError(AerowireError):
    """A command did not fit into the to-driver buffer."""


class BlockingCallError(AerowireError):
    """A call that waits was made where nothing may wait, as in a simulated world. `expected` is the form that does not wait."""


class ForkedProcessError(AerowireError):
    """An object opened before fork() is used in the child."""


class MalformedFrameError(AerowireError):
    """A frame in a stream's log is shorter than its header or reaches beyond its term, so that nothing behind it can be read.

    `session_id`, `stream_id`, `position` and `frame_length` tell which frame. It ends the image or the publication of the log.
    """

    def __init__(
        self,
        what: str,
        *,
        session_id: int = 0,
        stream_id: int = 0,
        position: int = 0,
        frame_length: int = 0,
        room: int = 0,
    ) -> None:
        self.session_id = session_id
        self.stream_id = stream_id
        self.position = position
        self.frame_length = frame_length
        super().__init__(
            what,
            where=f"session {session_id}, stream {stream_id}, position {position}",
            expected=f"a frame of 32 to {room} bytes",
            actual=f"a frame length of {frame_length}",
        )


class StorageError(AerowireError, OSError):
    """A file that holds shared memory cannot be created, opened or mapped."""


class MappedFileMissingError(StorageError, FileNotFoundError):
    """A file that should hold shared memory does not exist."""


class MappedFileExistsError(StorageError, FileExistsError):
    """A file that should be made already exists."""


class FileError(StorageError):
    """The file system refused an operation on a file; `errno` says why."""

    def __init__(self, what: str, *, where: object, number: int) -> None:
        """Raise it by `file_error`, which finds the class."""
        super().__init__(what, where=where, actual=os.strerror(number))
        self.errno = number


class MissingFileError(FileError, FileNotFoundError):
    """A file or directory does not exist."""


class ExistingFileError(FileError, FileExistsError):
    """A file or directory that should be made already exists."""


class FullDiskError(FileError, StorageSpaceError):
    """The file system has no room for what should be written."""


FILE_ERRORS = {ENOENT: MissingFileError, EEXIST: ExistingFileError, ENOSPC: FullDiskError, EDQUOT: FullDiskError}


def file_error(what: str, where: object, number: int) -> FileError:
    """Return the error of a file operation that ended with an errno."""
    return FILE_ERRORS.get(number, FileError)(what, where=where, number=number)


class TruncatedFileError(ForeignDirectoryError):
    """A shared file is shorter than what it says that it holds; touching the missing part would kill the process."""


class DriverNotReadyError(DriverError):
    """A cnc file exists, but its driver has not finished writing it or has not started its heartbeat."""


class VersionMismatchError(ForeignDirectoryError):
    """A cnc file has another major version than this implementation speaks."""
