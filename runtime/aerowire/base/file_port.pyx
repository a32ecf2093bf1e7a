"""The port through which files are made, written and kept.

A FilePort performs operations, natively or by the methods here, which raise FileError. An operation may also be begun and complete later.
Nothing is on the disk before a sync has succeeded: content and length by that of the file, a name by that of its directory. After a sync
that failed, nothing that was written since the last good one counts as written, whatever a later sync says.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.errno cimport EIO, ENOENT, ENOSYS, EAGAIN
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

import os

from aerowire.base.errors import ClosedError, file_error

WHAT = {
    FILE_OPEN: "cannot open a file",
    FILE_CLOSE: "cannot close a file",
    FILE_READ: "cannot read from a file",
    FILE_WRITE: "cannot write to a file",
    FILE_SYNC_DATA: "cannot sync a file's data: what was written since the last sync is lost",
    FILE_SYNC_FULL: "cannot sync a file: what was written since the last sync is lost",
    FILE_TRUNCATE: "cannot change a file's length",
    FILE_PREALLOCATE: "cannot reserve space for a file",
    FILE_LENGTH: "cannot tell a file's length",
    FILE_LOCK: "cannot lock a file",
    FILE_UNLOCK: "cannot unlock a file",
    FILE_RENAME: "cannot rename a file",
    FILE_DELETE: "cannot delete a file",
    FILE_MAKE_DIRECTORY: "cannot make a directory",
    FILE_DELETE_DIRECTORY: "cannot delete a directory",
    FILE_SYNC_DIRECTORY: "cannot sync a directory: its new names may be lost",
    FILE_FREE_SPACE: "cannot tell the free space",
}


cdef class FilePort:
    """Files and directories of one process. Implementations override `run`, and `begin` where operations complete later."""

    cdef int64_t run(self, FileOperation* operation) noexcept nogil:
        operation.result = -ENOSYS
        return -ENOSYS

    cdef void begin(self, FileOperation* operation) noexcept nogil:
        operation.state = FILE_BEGUN
        file_complete(operation, self.run(operation))

    def open(self, path, *, writable=False, create=False, exclusive=False):
        """Open a file for reading, or for reading and writing; a link is not followed.

        `create` makes it unless it is there; with `exclusive` too, ExistingFileError is raised when it is there. Raises MissingFileError
        where there is none, FileError for a directory among others.
        """
        cdef FileRequest request = FileRequest.__new__(FileRequest)
        request._name_paths(path)
        request.operation.code = FILE_OPEN
        request.operation.flags = (FILE_WRITABLE if writable else 0) | (FILE_CREATE if create else 0) | (FILE_EXCLUSIVE if exclusive else 0)
        cdef OpenFile file = OpenFile.__new__(OpenFile)
        file.path = request._path
        file._handle = -1
        file._handle = <int32_t>self._perform(request)
        file._port = self
        return file

    def rename(self, path, target) -> None:
        """Give a file another name; a file that has that name is replaced."""
        self._perform_on(FILE_RENAME, path, target)

    def delete(self, path) -> bool:
        """Delete a file; False where there is none. Those who have it open keep it."""
        return self._perform_on(FILE_DELETE, path, None, ENOENT) >= 0

    def make_directory(self, path, int32_t mode=0o777) -> None:
        """Make a directory; the umask takes from `mode`. Raises ExistingFileError, and MissingFileError where the one above is missing."""
        self._perform_on(FILE_MAKE_DIRECTORY, path, None, 0, mode)

    def delete_directory(self, path) -> bool:
        """Delete an empty directory; False where there is none."""
        return self._perform_on(FILE_DELETE_DIRECTORY, path, None, ENOENT) >= 0

    def sync_directory(self, path) -> None:
        """Return when the names in a directory are on the disk."""
        self._perform_on(FILE_SYNC_DIRECTORY, path)

    def free_space(self, path) -> int:
        """Return the bytes that may still be written below a directory."""
        return self._perform_on(FILE_FREE_SPACE, path)

    def names(self, path):
        """Return the names in a directory, sorted."""
        raise NotImplementedError

    def facts(self, path):
        """Return the FileFacts of a path, None where there is nothing."""
        raise NotImplementedError

    def hold_directory(self, path):
        """Open a directory that is no link and take its exclusive lock; return the HeldDirectory.

        Returns None while another process holds it, and where there is none or another one has just taken its place.
        """
        raise NotImplementedError

    def real_path(self, path) -> str:
        """Return an absolute path without links that leads to the same place."""
        raise NotImplementedError

    def user_id(self) -> int:
        """Return the user that what is made here belongs to."""
        raise NotImplementedError

    def exists(self, path) -> bool:
        """Return whether there is something of that name."""
        return self.facts(path) is not None

    def close(self) -> None:
        """Release what the port itself holds; its open files are closed on their own."""

    def _perform_on(self, int32_t code, path, target=None, int expected=0, int32_t flags=0):
        cdef FileRequest request = FileRequest.__new__(FileRequest)
        request._name_paths(path, target)
        request.operation.code = code
        request.operation.flags = flags
        return self._perform(request, expected)

    def _perform(self, FileRequest request, int expected=0):
        # Errors other than the expected one are raised.
        cdef int64_t result
        with nogil:
            result = self.run(&request.operation)
        request._release()
        if result < 0 and -result != expected:
            raise request._error(result)
        return result

    def _begin(self, FileRequest request):
        # The port keeps what is begun: a request that its owner forgets must outlive its operation.
        if self._requests is None:
            self._requests = []
        self._requests = [one for one in self._requests if not one.is_done]
        self._requests.append(request)
        self.begin(&request.operation)
        return request


cdef class OpenFile:
    """An open file; made by FilePort.open. Offsets and lengths are in bytes. One owner at a time."""

    def read(self, int64_t offset, int64_t length) -> bytes:
        """Return `length` bytes, fewer where the file ends before."""
        buffer = bytearray(length)
        cdef int64_t done = 0
        cdef int64_t count
        while done < length:
            count = self.read_into(offset + done, memoryview(buffer)[done:])
            if count == 0:
                break
            done += count
        return bytes(memoryview(buffer)[:done])

    def read_into(self, int64_t offset, *buffers) -> int:
        """Fill buffers, once: return the bytes read, which may be fewer than asked for, and are 0 at the end of the file."""
        return self._port_in_use()._perform(self._request(FILE_READ, offset, buffers))

    def write(self, int64_t offset, *buffers) -> int:
        """Write buffers one after the other, once: return the bytes written, which may be fewer than asked for."""
        return self._port_in_use()._perform(self._request(FILE_WRITE, offset, buffers))

    def write_all(self, int64_t offset, *buffers) -> None:
        """Write buffers one after the other, all of them."""
        cdef int64_t written
        left = [memoryview(buffer).cast("B") for buffer in buffers if memoryview(buffer).nbytes]
        while left:
            written = self.write(offset, *left[:FILE_PIECES_MAX])
            if written == 0:
                raise file_error("cannot write to a file: it takes no bytes", self.path, EIO)
            offset += written
            while left and written >= left[0].nbytes:
                written -= left[0].nbytes
                del left[0]
            if written:
                left[0] = left[0][written:]

    def sync(self, *, data_only=False) -> None:
        """Return when what was written is on the disk; `data_only` leaves attributes such as times aside, never the length."""
        self._port_in_use()._perform(self._request(FILE_SYNC_DATA if data_only else FILE_SYNC_FULL, 0, ()))

    def truncate(self, int64_t length) -> None:
        """Cut the file, or make it longer by zeros."""
        self._perform_with_length(FILE_TRUNCATE, length)

    def preallocate(self, int64_t length) -> None:
        """Make the file at least so long and reserve the space for it. Raises FullDiskError."""
        self._perform_with_length(FILE_PREALLOCATE, length)

    def length(self) -> int:
        """Return the file's length."""
        return self._port_in_use()._perform(self._request(FILE_LENGTH, 0, ()))

    def lock(self) -> bool:
        """Take the exclusive lock of the file; False while another open file holds it. It is released when the file is closed."""
        return self._port_in_use()._perform(self._request(FILE_LOCK, 0, ()), EAGAIN) >= 0

    def unlock(self) -> None:
        """Release the lock. A forked child has the file open too, and would keep it after a `close` here alone."""
        self._port_in_use()._perform(self._request(FILE_UNLOCK, 0, ()))

    def start_read(self, int64_t offset, *buffers):
        """Begin to fill buffers; return the FileRequest."""
        return self._port_in_use()._begin(self._request(FILE_READ, offset, buffers))

    def start_write(self, int64_t offset, *buffers):
        """Begin to write buffers, which must not change until it is done; return the FileRequest."""
        return self._port_in_use()._begin(self._request(FILE_WRITE, offset, buffers))

    def start_sync(self, *, data_only=False):
        """Begin a sync of what has been written, by requests that are done; return the FileRequest."""
        return self._port_in_use()._begin(self._request(FILE_SYNC_DATA if data_only else FILE_SYNC_FULL, 0, ()))

    def close(self) -> None:
        """Close the file, which syncs nothing. No request may be under way. Idempotent."""
        if self._handle < 0:
            return
        request = self._request(FILE_CLOSE, 0, ())
        self._handle = -1
        self._port._perform(request)

    @property
    def closed(self) -> bool:
        return self._handle < 0

    @property
    def handle(self) -> int:
        """The number by which native operations name the file."""
        self._port_in_use()
        return self._handle

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()

    def __del__(self):
        # Not __dealloc__: by then the collector may have taken the port apart.
        cdef FileOperation operation
        if self._handle >= 0 and self._port is not None:
            memset(&operation, 0, sizeof(FileOperation))
            operation.code = FILE_CLOSE
            operation.file = self._handle
            self._port.run(&operation)

    def _port_in_use(self):
        if self._handle < 0:
            raise ClosedError("the file is closed", where=self.path)
        return self._port

    def _perform_with_length(self, int32_t code, int64_t length):
        cdef FileRequest request = self._request(code, 0, ())
        request.operation.length = length
        self._port_in_use()._perform(request)

    def _request(self, int32_t code, int64_t offset, buffers):
        cdef FileRequest request = FileRequest.__new__(FileRequest)
        request._path = self.path
        request.operation.code = code
        request.operation.file = self._handle
        request.operation.offset = offset
        if buffers:
            request._hold(buffers, code == FILE_READ)
        return request


cdef class FileRequest:
    """An operation that was begun. Its buffers belong to the port until it is done."""

    @property
    def is_done(self) -> bool:
        """Whether it is complete, well or not."""
        return file_is_done(&self.operation)

    def result(self) -> int:
        """Return the bytes read or written, 0 of a sync. Raises FileError when it failed, ValueError before it is done."""
        if not file_is_done(&self.operation):
            raise ValueError("the request is not done")
        self._release()
        if self.operation.result < 0:
            raise self._error(self.operation.result)
        return self.operation.result

    def __dealloc__(self):
        self._release()
        free(self._buffers)
        free(self._pieces)

    cdef void _release(self):
        while self._held:
            self._held -= 1
            PyBuffer_Release(&self._buffers[self._held])

    def _name_paths(self, path, target=None):
        self._path = os.fsdecode(path) if target is None else f"{os.fsdecode(path)} -> {os.fsdecode(target)}"
        self._name = os.fsencode(path)
        self.operation.path = self._name
        if target is not None:
            self._target = os.fsencode(target)
            self.operation.target = self._target
        if b"\0" in self._name or (target is not None and b"\0" in self._target):
            raise ValueError(f"a path has no NUL: {self._path!r}")

    def _hold(self, buffers, writable):
        cdef int32_t count = <int32_t>len(buffers)
        if count > FILE_PIECES_MAX:
            raise ValueError(f"at most {FILE_PIECES_MAX} buffers at once, actual {count}")
        self._buffers = <Py_buffer*>calloc(count, sizeof(Py_buffer))
        self._pieces = <iovec*>calloc(count, sizeof(iovec))
        if self._buffers == NULL or self._pieces == NULL:
            raise MemoryError
        for buffer in buffers:
            PyObject_GetBuffer(buffer, &self._buffers[self._held], PyBUF_WRITABLE if writable else PyBUF_SIMPLE)
            self._pieces[self._held].iov_base = self._buffers[self._held].buf
            self._pieces[self._held].iov_len = self._buffers[self._held].len
            self._held += 1
        self.operation.pieces = self._pieces
        self.operation.piece_count = count

    def _error(self, int64_t result):
        return file_error(WHAT[self.operation.code], self._path, <int>-result)
