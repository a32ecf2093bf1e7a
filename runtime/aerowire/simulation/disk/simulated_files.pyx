"""The files port of one process of a simulated machine.

What is run is done at once and takes no time; what is begun completes when the disk's time has come, in an order that the disk draws. A
process that is killed may have done any part of what it had begun.
"""

from libc.errno cimport EAGAIN, EBADF, EEXIST, EINVAL, EIO, EISDIR, ENOENT, ENOSPC, ENOSYS
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memmove

import os
from posixpath import join, normpath

from aerowire.base.errors import file_error
from aerowire.base.file_facts import FileFacts, FileKind
from aerowire.simulation.disk.directory_tree import Directory, RefusedError
from aerowire.simulation.disk.held_directory import SimulatedHeldDirectory

from aerowire.base.file_port cimport (
    FILE_BEGUN, FILE_CLOSE, FILE_CREATE, FILE_DELETE, FILE_DELETE_DIRECTORY, FILE_EXCLUSIVE, FILE_FREE_SPACE, FILE_LENGTH, FILE_LOCK,
    FILE_MAKE_DIRECTORY, FILE_OPEN, FILE_PREALLOCATE, FILE_READ, FILE_RENAME, FILE_SYNC_DATA, FILE_SYNC_DIRECTORY, FILE_SYNC_FULL,
    FILE_TRUNCATE, FILE_UNLOCK, FILE_WRITABLE, FILE_WRITE, OpenFile, file_complete)
from aerowire.simulation.disk.disk cimport StoredFile
from aerowire.simulation.disk.file_content cimport PAGE
from aerowire.simulation.disk.open_entry cimport OpenEntry, sync_file

DEVICE = 1
OWNER = 0
FILE_MODE = 0o644
NAMES = {
    FILE_OPEN: "open", FILE_CLOSE: "close", FILE_READ: "read", FILE_WRITE: "write", FILE_SYNC_DATA: "sync_data",
    FILE_SYNC_FULL: "sync_full", FILE_TRUNCATE: "truncate", FILE_PREALLOCATE: "preallocate", FILE_LENGTH: "length", FILE_LOCK: "lock",
    FILE_UNLOCK: "unlock",
    FILE_RENAME: "rename", FILE_DELETE: "delete", FILE_MAKE_DIRECTORY: "make_directory", FILE_DELETE_DIRECTORY: "delete_directory",
    FILE_SYNC_DIRECTORY: "sync_directory", FILE_FREE_SPACE: "free_space",
}


cdef class SimulatedFiles(FilePort):
    """The files of a simulated disk as one process uses them: its handles and locks are its own, and end with it."""

    def __init__(self, SimulatedDisk disk not None):
        self._disk = disk
        self._open = []
        self._held = []
        disk.attach(self)

    def __dealloc__(self):
        free(self._begun)

    cdef int64_t run(self, FileOperation* operation) noexcept nogil:
        with gil:
            operation.result = self._run_now(operation)
        return operation.result

    cdef void begin(self, FileOperation* operation) noexcept nogil:
        operation.state = FILE_BEGUN
        with gil:
            self._remember(operation)

    def names(self, path):
        """Return the names in a directory, sorted."""
        try:
            return sorted(self._disk.tree.directory(os.fsdecode(path)).names)
        except RefusedError as refused:
            raise file_error("cannot list a directory", os.fsdecode(path), refused.number) from None

    def facts(self, path):
        """Return the FileFacts of a path, None where there is nothing."""
        try:
            return self.facts_of(self._disk.tree.find(os.fsdecode(path)))
        except RefusedError as refused:
            if refused.number == ENOENT:
                return None
            raise file_error("cannot look at a file", os.fsdecode(path), refused.number) from None

    def facts_of(self, node):
        """Return the FileFacts of a file or directory of the tree."""
        cdef StoredFile file
        if isinstance(node, Directory):
            return FileFacts(FileKind.DIRECTORY, 0, DEVICE, node.inode, node.mode, OWNER)
        file = node
        return FileFacts(FileKind.FILE, file.content.length, DEVICE, file.inode, FILE_MODE, OWNER)

    def hold_directory(self, path):
        """Take the lock of a directory; return it, None while another process holds it and where there is none."""
        try:
            directory = self._disk.tree.directory(os.fsdecode(path))
        except RefusedError as refused:
            if refused.number == ENOENT:
                return None
            raise file_error("cannot open a directory", os.fsdecode(path), refused.number) from None
        if directory.holder is not None or self._is_dead:
            return None
        self._held = [held for held in self._held if held.is_held]
        held = SimulatedHeldDirectory(self, self._disk.tree, directory)
        self._held.append(held)
        return held

    def real_path(self, path):
        """Return an absolute path: there are no links here."""
        return normpath(join("/", os.fsdecode(path)))

    def user_id(self):
        """Return the user that everything here belongs to."""
        return OWNER

    def is_locked(self, path):
        """Return whether a process holds the exclusive lock of a file; None where there is no file."""
        cdef StoredFile file
        if self.facts(path) is None:
            return None
        node = self._disk.tree.find(os.fsdecode(path))
        if isinstance(node, Directory):
            return None
        file = node
        return file.lock_holder is not None

    def map(self, path, *, create_length=0, writable=True):
        """Return a Region of a file's bytes, which reads and writes see at once; with a `create_length`, of a new file of so many zeros.

        Raises MappedFileExistsError, MappedFileMissingError, StorageSpaceError. The file cannot grow beyond what is set aside for it while
        it is mapped: 64 MiB, or twice its length.
        """
        cdef StoredFile file
        cdef OpenFile opened
        name = os.fsdecode(path)
        with self.open(path, writable=writable, create=create_length > 0, exclusive=create_length > 0) as opened:
            file = (<OpenEntry>self._open[opened.handle]).file
            try:
                if create_length:
                    # Memory first: pages that are taken would be copied into it.
                    file.content.map(create_length, name)
                    opened.truncate(create_length)
                    opened.preallocate(create_length)
                # Space behind a mapping is taken whole: nothing tells which pages are written.
                elif self._disk.take_space(file.content, 0, file.content.length) < 0:
                    raise file_error("cannot map a file", name, ENOSPC)
                if file.content.length == 0:
                    raise file_error("cannot map an empty file", name, EINVAL)
                return file.content.map(file.content.length, name), file
            except BaseException:
                if create_length:
                    self.delete(path)
                raise

    def sync_mapped(self, StoredFile file) -> None:
        """Sync a file that is mapped. Raises FileError."""
        cdef int64_t result = sync_file(self._disk, file)
        self._disk.count("sync_mapped")
        self._disk.note(FILE_SYNC_DATA, result)
        if result < 0:
            raise file_error("cannot sync a mapped file: what was written since the last sync is lost", None, <int>-result)

    def next_completion_ns(self) -> int:
        """Return when an operation completes next, 2^63-1 when none is under way."""
        cdef int64_t next_ns = INT64_MAX
        cdef int32_t index
        for index in range(self._begun_count):
            next_ns = min(next_ns, self._begun[index].due_ns)
        return next_ns

    def complete_due(self) -> int:
        """Complete the operations whose time has come, in the order of their times; return how many."""
        cdef int64_t now_ns = self._disk.clock.nano_time()
        cdef int32_t index
        cdef int32_t first
        cdef int done = 0
        cdef FileOperation* operation
        while self._begun_count:
            first = 0
            for index in range(self._begun_count):
                if self._begun[index].due_ns < self._begun[first].due_ns:
                    first = index
            if self._begun[first].due_ns > now_ns:
                break
            operation = self._take(first)
            file_complete(operation, self._run_now(operation))
            done += 1
        return done

    def kill_after(self, int64_t operations) -> None:
        """End the process in the midst of its n-th operation from now on: a write is done in part, others are done or not."""
        self._left = operations

    def kill(self) -> None:
        """End the process: of what it had begun any part is done, and its files are closed without a word. Idempotent."""
        cdef int32_t handle
        cdef uint64_t outcome
        cdef FileOperation* operation
        if self._is_dead:
            return
        self._left = 0
        while self._begun_count:
            operation = self._take(<int32_t>self._disk.random.next_below(self._begun_count))
            outcome = self._disk.random.next_below(3)
            if outcome:
                self._is_dying = outcome == 2   # writes are done in part
                self._run_now(operation)
        for handle in range(<int32_t>len(self._open)):
            self._close(handle)
        for held in self._held:
            held.release()
        self._is_dead = True
        self._disk.detach(self)

    def close(self) -> None:
        """End the process's use of the disk. Nothing may be under way."""
        self.kill()

    cdef FileOperation* _take(self, int32_t index):
        cdef FileOperation* operation = self._begun[index].operation
        self._begun_count -= 1
        memmove(&self._begun[index], &self._begun[index + 1], (self._begun_count - index) * sizeof(Begun))
        return operation

    cdef void _remember(self, FileOperation* operation):
        cdef Begun* begun
        if self._begun_count == self._begun_room:
            begun = <Begun*>realloc(self._begun, (self._begun_room + 64) * sizeof(Begun))
            if begun == NULL:
                file_complete(operation, -EAGAIN)
                return
            self._begun = begun
            self._begun_room += 64
        self._begun[self._begun_count].due_ns = self._disk.draw_due_ns()
        self._begun[self._begun_count].operation = operation
        self._begun_count += 1
        if self._disk.on_begin is not None:
            self._disk.on_begin()

    cdef int64_t _run_now(self, FileOperation* operation):
        cdef int64_t result
        if self._left > 0 and not self._is_dying:
            self._left -= 1
            if self._left == 0:
                self._is_dying = True
                if self._disk.random.next_below(2):
                    self._dispatch(operation)
                self.kill()
        if self._is_dead:
            return 0 if operation.code == FILE_CLOSE else -EIO
        result = self._dispatch(operation)
        self._disk.note(operation.code, result)
        return result

    cdef int64_t _dispatch(self, FileOperation* operation):
        cdef int code = operation.code
        self._disk.count(NAMES.get(code, "unknown"))
        if operation.path != NULL:
            try:
                return self._dispatch_on_path(operation)
            except RefusedError as refused:
                return -<int64_t>refused.number
        return self._dispatch_on_file(operation)

    cdef int64_t _dispatch_on_path(self, FileOperation* operation) except? -1:
        cdef int code = operation.code
        cdef StoredFile file
        tree = self._disk.tree
        path = os.fsdecode(<bytes>operation.path)
        if code == FILE_OPEN:
            return self._open_file(operation)
        elif code == FILE_RENAME:
            file = tree.rename(path, os.fsdecode(<bytes>operation.target))
            if file is not None:
                file.is_named = False
                self._disk.forget_if_unused(file)
        elif code == FILE_DELETE:
            file = tree.remove_file(path)
            file.is_named = False
            self._disk.forget_if_unused(file)
        elif code == FILE_MAKE_DIRECTORY:
            tree.make_directory(path, operation.flags)
        elif code == FILE_DELETE_DIRECTORY:
            tree.remove_directory(path)
        elif code == FILE_SYNC_DIRECTORY:
            if not tree.directory(path).is_volatile and self._disk.happens(self._disk.rates.sync_error, "sync_error"):
                return -EIO
            tree.sync(path)
        elif code == FILE_FREE_SPACE:
            tree.find(path)
            return self._disk.free_pages() * PAGE
        else:
            return -ENOSYS
        return 0

    cdef int64_t _open_file(self, FileOperation* operation) except? -1:
        cdef OpenEntry entry = OpenEntry.__new__(OpenEntry)
        cdef StoredFile file = None
        tree = self._disk.tree
        path = os.fsdecode(<bytes>operation.path)
        try:
            node = tree.find(path)
            if operation.flags & FILE_CREATE and operation.flags & FILE_EXCLUSIVE:
                raise RefusedError(EEXIST)
            if isinstance(node, Directory):
                return -EISDIR
            file = node
        except RefusedError as refused:
            if refused.number != ENOENT or not operation.flags & FILE_CREATE:
                raise
            file = StoredFile(tree.next_inode(), tree.is_volatile(path))
            tree.put(path, file)
        file.open_count += 1
        entry.file = file
        entry.is_writable = bool(operation.flags & FILE_WRITABLE)
        # The lowest handle that is free, as systems do.
        for handle, other in enumerate(self._open):
            if other is None:
                self._open[handle] = entry
                return handle
        self._open.append(entry)
        return len(self._open) - 1

    cdef int64_t _dispatch_on_file(self, FileOperation* operation):
        cdef OpenEntry entry = None
        cdef int code = operation.code
        if code in (FILE_READ, FILE_WRITE) and operation.offset < 0:
            return -EINVAL
        if code == FILE_TRUNCATE and operation.length < 0:
            return -EINVAL
        if code == FILE_PREALLOCATE and operation.length <= 0:
            return -EINVAL
        if 0 <= operation.file < len(self._open):
            entry = self._open[operation.file]
        if entry is None:
            return -EBADF
        if code == FILE_CLOSE:
            return self._close(operation.file)
        elif code == FILE_READ:
            return entry.read(self._disk, operation)
        elif code == FILE_WRITE:
            return entry.write(self._disk, operation, self._is_dying)
        elif code == FILE_SYNC_DATA or code == FILE_SYNC_FULL:
            return sync_file(self._disk, entry.file)
        elif code == FILE_TRUNCATE or code == FILE_PREALLOCATE:
            return entry.resize(self._disk, operation)
        elif code == FILE_LENGTH:
            return entry.file.content.length
        elif code == FILE_LOCK:
            return entry.lock()
        elif code == FILE_UNLOCK:
            return entry.unlock()
        return -ENOSYS

    cdef int64_t _close(self, int32_t handle):
        cdef OpenEntry entry = self._open[handle]
        if entry is None:
            return -EBADF
        self._open[handle] = None
        entry.unlock()
        entry.file.open_count -= 1
        self._disk.forget_if_unused(entry.file)
        return 0
