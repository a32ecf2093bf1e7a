"""A files port that fails, cuts and holds back operations as a test says, and notes each one."""

from libc.stdint cimport int32_t, int64_t

cimport cython

from aerowire.base.file_port cimport (
    FILE_BEGUN, FILE_CLOSE, FILE_DELETE, FILE_LENGTH, FILE_OPEN, FILE_PREALLOCATE, FILE_READ, FILE_SYNC_DATA, FILE_SYNC_DIRECTORY,
    FILE_SYNC_FULL, FILE_TRUNCATE, FILE_WRITE, FileOperation, FilePort, file_complete)

NAMES = {
    FILE_OPEN: "open", FILE_CLOSE: "close", FILE_READ: "read", FILE_WRITE: "write", FILE_SYNC_DATA: "sync", FILE_SYNC_FULL: "sync_full",
    FILE_PREALLOCATE: "preallocate", FILE_TRUNCATE: "truncate", FILE_LENGTH: "length", FILE_DELETE: "delete",
    FILE_SYNC_DIRECTORY: "sync_directory",
}


@cython.final
cdef class ScriptedFiles(FilePort):
    """Operations of another port. `notes` has (name, offset, length) of each, in the order of their completion."""

    cdef FilePort _files
    cdef list _held                 # addresses of operations
    cdef dict _failures             # name -> [operations before, errno]
    cdef readonly list notes
    cdef public bint holds          # what is begun waits for `release`
    cdef public int64_t most        # bytes of one read or write; 0: any number

    def __init__(self, FilePort files not None):
        self._files = files
        self._held = []
        self._failures = {}
        self.notes = []

    cdef int64_t run(self, FileOperation* operation) noexcept nogil:
        with gil:
            operation.result = self._perform(operation)
        return operation.result

    cdef void begin(self, FileOperation* operation) noexcept nogil:
        operation.state = FILE_BEGUN
        with gil:
            if self.holds:
                self._held.append(<size_t>operation)
            else:
                file_complete(operation, self._perform(operation))

    def fail(self, name, number, before=0):
        """Let an operation fail with an errno, after `before` others of its name went well, and each one after it."""
        self._failures[name] = [before, number]

    def mend(self):
        """Let no operation fail any more."""
        self._failures.clear()

    def release(self, count=1 << 30):
        """Perform operations that were held back, oldest first; return how many."""
        done = 0
        while self._held and done < count:
            operation = <FileOperation*><size_t>self._held.pop(0)
            file_complete(operation, self._perform(operation))
            done += 1
        return done

    @property
    def held_count(self):
        """Operations that are held back."""
        return len(self._held)

    def facts(self, path):
        return self._files.facts(path)

    cdef int64_t _perform(self, FileOperation* operation):
        cdef int64_t length = operation.pieces[0].iov_len if operation.code in (FILE_READ, FILE_WRITE) else operation.length
        name = NAMES[operation.code]
        self.notes.append((name, operation.offset if operation.code in (FILE_READ, FILE_WRITE) else 0, length))
        if name in self._failures:
            self._failures[name][0] -= 1
            if self._failures[name][0] < 0:
                return -self._failures[name][1]
        if self.most and operation.code in (FILE_READ, FILE_WRITE) and length > self.most:
            operation.pieces[0].iov_len = self.most
        return self._files.run(operation)
