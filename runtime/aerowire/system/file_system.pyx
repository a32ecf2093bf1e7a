"""The operating system's files as a FilePort, and threads that perform its operations so that an agent need not wait for a disk.

An operation that a signal interrupts is repeated. Reads and writes are given to the system once: their results are the system's.
"""

from libc.errno cimport EINTR, EINVAL, EISDIR, ENOSYS, errno
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

import os

from aerowire.base.errors import file_error
from aerowire.system.directories import facts_of, hold_directory

from aerowire.base.file_port cimport (
    FILE_BEGUN, FILE_CLOSE, FILE_CREATE, FILE_DELETE, FILE_DELETE_DIRECTORY, FILE_EXCLUSIVE, FILE_FREE_SPACE, FILE_LENGTH, FILE_LOCK,
    FILE_MAKE_DIRECTORY, FILE_OPEN, FILE_PREALLOCATE, FILE_READ, FILE_RENAME, FILE_SYNC_DATA, FILE_SYNC_DIRECTORY, FILE_SYNC_FULL,
    FILE_TRUNCATE, FILE_UNLOCK, FILE_WRITABLE, FILE_WRITE, file_complete, iovec)

cdef extern from "<fcntl.h>" nogil:
    int c_open "open"(const char* path, int flags, ...)
    int posix_fallocate(int fd, int64_t offset, int64_t length)
    int O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_CLOEXEC, O_NOFOLLOW, O_DIRECTORY, O_NONBLOCK

cdef extern from "<unistd.h>" nogil:
    int c_close "close"(int fd)
    int fsync(int fd)
    int fdatasync(int fd)
    int ftruncate(int fd, int64_t length)
    int c_unlink "unlink"(const char* path)
    int c_rmdir "rmdir"(const char* path)
    int getpid()

cdef extern from "<stdio.h>" nogil:
    int c_rename "rename"(const char* path, const char* target)

cdef extern from "<sys/uio.h>" nogil:
    int64_t preadv(int fd, const iovec* pieces, int count, int64_t offset)
    int64_t pwritev(int fd, const iovec* pieces, int count, int64_t offset)

cdef extern from "<sys/file.h>" nogil:
    int flock(int fd, int operation)
    int LOCK_EX, LOCK_NB, LOCK_UN

cdef extern from "<sys/stat.h>" nogil:
    struct c_stat "stat":
        int64_t st_size
        int st_mode
    int fstat(int fd, c_stat* out)
    int c_mkdir "mkdir"(const char* path, int mode)
    bint S_ISDIR(int mode)
    bint S_ISREG(int mode)

cdef extern from "<sys/statvfs.h>" nogil:
    struct c_statvfs "statvfs":
        unsigned long f_frsize
        unsigned long f_bavail
    int statvfs(const char* path, c_statvfs* out)

cdef extern from "<pthread.h>" nogil:
    int pthread_create(pthread_t* thread, void* attributes, void* (*run)(void*) noexcept nogil, void* argument)
    int pthread_join(pthread_t thread, void** result)
    int pthread_mutex_init(pthread_mutex_t* mutex, void* attributes)
    int pthread_mutex_lock(pthread_mutex_t* mutex)
    int pthread_mutex_unlock(pthread_mutex_t* mutex)
    int pthread_mutex_destroy(pthread_mutex_t* mutex)
    int pthread_cond_init(pthread_cond_t* condition, void* attributes)
    int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex)
    int pthread_cond_signal(pthread_cond_t* condition)
    int pthread_cond_broadcast(pthread_cond_t* condition)
    int pthread_cond_destroy(pthread_cond_t* condition)

cdef enum:
    FILE_MODE = 0o664


cdef class FileSystem(FilePort):
    """The machine's files. Any thread; a file belongs to one at a time."""

    cdef int64_t run(self, FileOperation* operation) noexcept nogil:
        cdef int64_t result
        while True:
            result = perform(operation)
            if result != -EINTR or operation.code == FILE_CLOSE:
                break
        operation.result = result
        return result

    def names(self, path):
        """Return the names in a directory, sorted."""
        try:
            return sorted(os.listdir(path))
        except OSError as error:
            raise file_error("cannot list a directory", os.fsdecode(path), error.errno) from None

    def facts(self, path):
        """Return the FileFacts of a path, None where there is nothing."""
        return facts_of(path)

    def hold_directory(self, path):
        """Open and lock a directory; return it, None while another process holds it and where there is none."""
        return hold_directory(path)

    def real_path(self, path):
        """Return an absolute path without links."""
        return os.path.realpath(path)

    def user_id(self):
        """Return the effective user."""
        return os.geteuid()


cdef int64_t perform(const FileOperation* operation) noexcept nogil:
    cdef int fd = operation.file
    cdef int64_t result
    cdef c_stat found
    cdef int code = operation.code
    if code == FILE_OPEN:
        return open_file(operation.path, operation.flags)
    elif code == FILE_CLOSE:
        result = c_close(fd)
    elif code == FILE_READ:
        result = preadv(fd, operation.pieces, operation.piece_count, operation.offset)
    elif code == FILE_WRITE:
        result = pwritev(fd, operation.pieces, operation.piece_count, operation.offset)
    elif code == FILE_SYNC_DATA:
        result = fdatasync(fd)
    elif code == FILE_SYNC_FULL:
        result = fsync(fd)
    elif code == FILE_TRUNCATE:
        result = ftruncate(fd, operation.length)
    elif code == FILE_PREALLOCATE:
        return -posix_fallocate(fd, 0, operation.length)        # its result is the error
    elif code == FILE_LENGTH:
        result = fstat(fd, &found)
        if result == 0:
            result = found.st_size
    elif code == FILE_LOCK:
        result = flock(fd, LOCK_EX | LOCK_NB)
    elif code == FILE_UNLOCK:
        result = flock(fd, LOCK_UN)
    elif code == FILE_RENAME:
        result = c_rename(operation.path, operation.target)
    elif code == FILE_DELETE:
        result = c_unlink(operation.path)
    elif code == FILE_MAKE_DIRECTORY:
        result = c_mkdir(operation.path, operation.flags)
    elif code == FILE_DELETE_DIRECTORY:
        result = c_rmdir(operation.path)
    elif code == FILE_SYNC_DIRECTORY:
        return sync_directory(operation.path)
    elif code == FILE_FREE_SPACE:
        return measure_free_space(operation.path)
    else:
        return -ENOSYS
    return result if result >= 0 else -errno


cdef int64_t open_file(const char* path, int flags) noexcept nogil:
    # Not blocking: a pipe would be waited for. What is no file is refused, as offsets mean nothing there.
    cdef c_stat found
    cdef int how = (O_RDWR if flags & FILE_WRITABLE else O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    cdef int fd
    if flags & FILE_CREATE:
        how |= O_CREAT | (O_EXCL if flags & FILE_EXCLUSIVE else 0)
    fd = c_open(path, how, <int>FILE_MODE)
    if fd < 0:
        return -errno
    if fstat(fd, &found) == 0 and S_ISREG(found.st_mode):
        return fd
    c_close(fd)
    return -EISDIR if S_ISDIR(found.st_mode) else -EINVAL


cdef int64_t sync_directory(const char* path) noexcept nogil:
    cdef int64_t result
    cdef int fd = c_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if fd < 0:
        return -errno
    result = fsync(fd)
    if result < 0:
        result = -errno
    c_close(fd)
    return result


cdef int64_t measure_free_space(const char* path) noexcept nogil:
    cdef c_statvfs found
    if statvfs(path, &found) != 0:
        return -errno
    return <int64_t>(found.f_bavail * found.f_frsize)


cdef class FileWorkers(FilePort):
    """Threads that perform operations of another port.

    What is begun completes in their threads, each operation after another where there is one thread; what is run, in the caller's.
    """

    def __cinit__(self, FilePort files not None, int threads=1):
        if threads < 1:
            raise ValueError(f"threads: expected at least 1, actual {threads}")
        self._files = files
        self._queue.files = <void*>files
        self._process = getpid()
        pthread_mutex_init(&self._queue.mutex, NULL)
        pthread_cond_init(&self._queue.changed, NULL)
        self._threads = <pthread_t*>calloc(threads, sizeof(pthread_t))
        if self._threads == NULL:
            raise MemoryError
        cdef int failure
        for _ in range(threads):
            failure = pthread_create(&self._threads[self._count], NULL, work, &self._queue)
            if failure:
                self._stop()
                raise OSError(failure, f"cannot start a thread for files: {os.strerror(failure)}")
            self._count += 1

    def __dealloc__(self):
        self._stop()
        pthread_cond_destroy(&self._queue.changed)
        pthread_mutex_destroy(&self._queue.mutex)
        free(self._threads)

    cdef int64_t run(self, FileOperation* operation) noexcept nogil:
        return self._files.run(operation)

    cdef void begin(self, FileOperation* operation) noexcept nogil:
        operation.state = FILE_BEGUN
        operation.next = NULL
        pthread_mutex_lock(&self._queue.mutex)
        if self._queue.last != NULL:
            self._queue.last.next = operation
        else:
            self._queue.first = operation
        self._queue.last = operation
        pthread_cond_signal(&self._queue.changed)
        pthread_mutex_unlock(&self._queue.mutex)

    def names(self, path):
        return self._files.names(path)

    def facts(self, path):
        return self._files.facts(path)

    def hold_directory(self, path):
        return self._files.hold_directory(path)

    def real_path(self, path):
        return self._files.real_path(path)

    def user_id(self):
        return self._files.user_id()

    def close(self) -> None:
        """Perform what is begun, and stop the threads. Nothing may be begun afterwards. Idempotent."""
        self._stop()

    def _stop(self):
        if self._process != getpid():
            return              # a forked child has none of the threads, and the lock may be theirs
        with nogil:
            pthread_mutex_lock(&self._queue.mutex)
            self._queue.is_closing = 1
            pthread_cond_broadcast(&self._queue.changed)
            pthread_mutex_unlock(&self._queue.mutex)
            while self._count > 0:
                self._count -= 1
                pthread_join(self._threads[self._count], NULL)


cdef void* work(void* argument) noexcept nogil:
    cdef OperationQueue* queue = <OperationQueue*>argument
    cdef FileOperation* operation
    while True:
        pthread_mutex_lock(&queue.mutex)
        while queue.first == NULL and not queue.is_closing:
            pthread_cond_wait(&queue.changed, &queue.mutex)
        operation = queue.first
        if operation != NULL:
            queue.first = operation.next
            if queue.first == NULL:
                queue.last = NULL
        pthread_mutex_unlock(&queue.mutex)
        if operation == NULL:
            return NULL
        file_complete(operation, (<FilePort>queue.files).run(operation))
