"""A segment file of a recording, and the one operation that is under way on it.

It knows names and handles, neither the recorder nor the replayer, and nothing of what is in a segment.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, strcpy

cimport cython

import os
from posixpath import join

from aerowire.codecs.flyweights.archive_files import SEGMENT_FILE_NAME

from aerowire.base.file_port cimport (
    FILE_BEGUN, FILE_CLOSE, FILE_DELETE, FILE_IDLE, FILE_LENGTH, FILE_OPEN, FILE_PREALLOCATE, FILE_READ, FILE_SYNC_DATA,
    FILE_SYNC_DIRECTORY, FILE_SYNC_FULL, FILE_TRUNCATE, FILE_WRITE)
from aerowire.memory.atomics cimport load_acquire_i32

_WIDEST = str(INT64_MAX)        # of all positions, as text
_BEFORE, _AFTER = SEGMENT_FILE_NAME.encode().split(b"{position}")
cdef bytes _NUMBERED = _BEFORE.replace(b"{recording_id}", b"%d")
cdef bytes _SUFFIX = _AFTER


@cython.no_gc_clear
@cython.final
cdef class SegmentFile:
    """One segment of a recording at a time; what is begun on it is done by the files port, in this thread or another.

    Invariant: an operation is begun when the one before is done and its result was taken. Memory that is lent to an operation, its path
    among it, is not freed before the operation is done.
    """

    def __cinit__(self, FilePort files not None, directory, int64_t recording_id):
        cdef bytes prefix, folder
        self._files = files
        self.handle = FILE_NONE
        folder = os.fsencode(directory)
        prefix = join(folder, _NUMBERED % recording_id)
        if b"\0" in prefix:
            raise ValueError(f"a path has no NUL: {directory!r}")
        self._prefix_length = <int32_t>len(prefix)
        self._operation = <FileOperation*>calloc(1, sizeof(FileOperation))
        self._piece = <iovec*>calloc(1, sizeof(iovec))
        self._path = <char*>malloc(len(prefix) + len(_WIDEST) + len(_SUFFIX) + 1)
        self._directory = <char*>malloc(len(folder) + 1)
        self._suffix = <char*>malloc(len(_SUFFIX) + 1)
        if self._operation is NULL or self._piece is NULL or self._path is NULL or self._directory is NULL or self._suffix is NULL:
            raise MemoryError("segment file")
        memcpy(self._path, <const char*>prefix, len(prefix))
        memcpy(self._directory, <const char*>folder, len(folder) + 1)
        memcpy(self._suffix, <const char*>_SUFFIX, len(_SUFFIX) + 1)
        self._operation.pieces = self._piece

    def __dealloc__(self):
        # An operation that its port never completed may still be looked at by the port's threads: its memory is left to them.
        if self.is_at_rest():
            free(self._operation)
            free(self._piece)
            free(self._path)
            free(self._directory)
        free(self._suffix)

    def __del__(self):
        # Not __dealloc__: by then the collector may have taken the port apart.
        if self._operation is not NULL and self.handle != FILE_NONE and self.is_at_rest():
            self._operation.code = FILE_CLOSE
            self._operation.path = NULL
            self._operation.file = self.handle
            self.handle = FILE_NONE
            self._files.run(self._operation)

    cdef void open_segment(self, int64_t position, int32_t flags) noexcept nogil:
        self.position = position
        self._write_path()
        self._operation.flags = flags
        self._begin(FILE_OPEN, self._path)

    cdef void _write_path(self) noexcept nogil:
        # The position in decimal digits, its last ones first, between the two parts of the name.
        cdef int64_t rest = self.position
        cdef char* digit = self._path + self._prefix_length
        while rest > 9:
            rest //= 10
            digit += 1
        strcpy(digit + 1, self._suffix)
        rest = self.position
        while digit >= self._path + self._prefix_length:
            digit[0] = <char>(c'0' + rest % 10)
            rest //= 10
            digit -= 1

    cdef void close(self) noexcept nogil:
        self._begin(FILE_CLOSE, NULL)

    cdef void read(self, uint8_t* address, int64_t length, int64_t offset) noexcept nogil:
        self._transfer(FILE_READ, address, length, offset)

    cdef void write(self, const uint8_t* address, int64_t length, int64_t offset) noexcept nogil:
        self._transfer(FILE_WRITE, <void*>address, length, offset)

    cdef void sync(self, bint is_full) noexcept nogil:
        self._begin(FILE_SYNC_FULL if is_full else FILE_SYNC_DATA, NULL)

    cdef void preallocate(self, int64_t length) noexcept nogil:
        self._operation.length = length
        self._begin(FILE_PREALLOCATE, NULL)

    cdef void set_length(self, int64_t length) noexcept nogil:
        self._operation.length = length
        self._begin(FILE_TRUNCATE, NULL)

    cdef void ask_length(self) noexcept nogil:
        self._begin(FILE_LENGTH, NULL)

    cdef void delete(self) noexcept nogil:
        self._begin(FILE_DELETE, self._path)

    cdef void sync_directory(self) noexcept nogil:
        self._begin(FILE_SYNC_DIRECTORY, self._directory)

    cdef bint is_at_rest(self) noexcept nogil:
        return self._operation is NULL or load_acquire_i32(&self._operation.state) != FILE_BEGUN

    cdef int64_t take_result(self) noexcept nogil:
        cdef int64_t result = self._operation.result
        self._operation.state = FILE_IDLE
        if self._operation.code == FILE_OPEN and result >= 0:
            self.handle = <int32_t>result
        elif self._operation.code == FILE_CLOSE:
            self.handle = FILE_NONE             # whatever the result: there is no second try
        return result

    cdef void _transfer(self, int32_t code, void* address, int64_t length, int64_t offset) noexcept nogil:
        self._piece.iov_base = address
        self._piece.iov_len = <size_t>length
        self._operation.piece_count = 1
        self._operation.offset = offset
        self._begin(code, NULL)

    cdef void _begin(self, int32_t code, const char* path) noexcept nogil:
        self._operation.code = code
        self._operation.path = path
        self._operation.file = self.handle
        self._files.begin(self._operation)
