# The files port: durable state is written through it. The real one is in system/, the simulated one in simulation/.
#
# Every operation is a FileOperation and every error a value: `result` is a negative errno. `run` performs one in the calling thread;
# `begin` may perform it later, off that thread: the operation, its path and its buffers stay where they are until `state` is FILE_DONE.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.base.atomics cimport load_acquire_i32, store_release_i32

cdef extern from "<sys/uio.h>" nogil:
    struct iovec:
        void* iov_base
        size_t iov_len


# What an operation does, what it reads of the struct, and its result where that is not 0.
cdef enum FileCode:
    FILE_OPEN = 1           # path, flags: a handle
    FILE_CLOSE              # file; releases the lock
    FILE_READ               # file, offset, pieces: bytes read, 0 at the end of the file; may be fewer than asked for
    FILE_WRITE              # file, offset, pieces: bytes written; may be fewer than asked for
    FILE_SYNC_DATA          # file: content, and the length if it has changed
    FILE_SYNC_FULL          # file: content, length and attributes
    FILE_TRUNCATE           # file, length
    FILE_PREALLOCATE        # file, length: the file is at least so long, and later writes below it need no more space
    FILE_LENGTH             # file: its length
    FILE_LOCK               # file: -EAGAIN while another open file holds the exclusive lock
    FILE_UNLOCK             # file
    FILE_RENAME             # path, target: replaces a file that is there
    FILE_DELETE             # path of a file
    FILE_MAKE_DIRECTORY     # path, flags: the mode
    FILE_DELETE_DIRECTORY   # path of an empty directory
    FILE_SYNC_DIRECTORY     # path: the names in it
    FILE_FREE_SPACE         # path of a directory: bytes

cdef enum FileFlag:
    FILE_WRITABLE = 1
    FILE_CREATE = 2         # make the file unless it is there
    FILE_EXCLUSIVE = 4      # with FILE_CREATE: -EEXIST when it is there

cdef enum FileState:
    FILE_IDLE = 0
    FILE_BEGUN = 1
    FILE_DONE = 2

cdef enum:
    FILE_PIECES_MAX = 64


cdef struct FileOperation:
    int32_t code
    int32_t flags
    int32_t file
    int32_t piece_count
    int64_t offset
    int64_t length
    iovec* pieces
    const char* path
    const char* target
    int64_t result
    int32_t state               # of the port from FILE_BEGUN until it stores FILE_DONE with release order
    FileOperation* next         # the port's own, while it is begun


cdef inline bint file_is_done(const FileOperation* operation) noexcept nogil:
    return load_acquire_i32(&operation.state) == FILE_DONE


cdef inline void file_complete(FileOperation* operation, int64_t result) noexcept nogil:
    operation.result = result
    store_release_i32(&operation.state, FILE_DONE)


cdef class FilePort:
    cdef object __weakref__
    cdef list _requests                                         # those that are begun

    cdef int64_t run(self, FileOperation* operation) noexcept nogil     # the result, which is also stored
    cdef void begin(self, FileOperation* operation) noexcept nogil


@cython.final
cdef class OpenFile:
    cdef readonly str path
    cdef FilePort _port
    cdef int32_t _handle        # -1 once closed


@cython.final
cdef class FileRequest:
    cdef FileOperation operation
    cdef str _path
    cdef bytes _name            # the path that the operation points to
    cdef bytes _target
    cdef iovec* _pieces
    cdef Py_buffer* _buffers    # what keeps the pieces where they are
    cdef int32_t _held

    cdef void _release(self)
