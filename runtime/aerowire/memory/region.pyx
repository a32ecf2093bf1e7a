"""Mapped memory: files and anonymous pages whose mapping lives as long as its last holder.

Knows sizes, permissions and free space; knows nothing of what is laid out in the pages.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from libc.errno cimport EDQUOT, EEXIST, EINTR, ELOOP, ENOSPC, errno
from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t

import mmap as mmap_module
import os
import stat
from pathlib import Path

from aerowire.base.errors import (
    ClosedError,
    MappedFileExistsError,
    MappedFileMissingError,
    StorageError,
    StorageSpaceError,
    TruncatedFileError,
    file_error,
)

from aerowire.memory.atomics cimport fetch_add_i32, load_acquire_i32
from aerowire.memory.lost_pages cimport add_range, count_lost_pages, remove_range

cdef extern from "<sys/mman.h>" nogil:
    void* mmap(void* address, size_t length, int protection, int flags, int fd, int64_t offset)
    int munmap(void* address, size_t length)
    int madvise(void* address, size_t length, int advice)
    int msync(void* address, size_t length, int flags)
    int PROT_READ, PROT_WRITE, MAP_SHARED, MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE
    int MS_SYNC
    void* MAP_FAILED

cdef extern from "<fcntl.h>" nogil:
    int posix_fallocate(int fd, int64_t offset, int64_t length)

FILE_MODE = 0o664

cdef enum:
    LOST_PAGES_MAX = 1 << 20    # counted at once: the sum of many files stays a 32-bit number

cdef int64_t PAGE_SIZE = mmap_module.PAGESIZE


cdef class Mapping:
    """The pages themselves.  Invariant: `address` is valid for `length` bytes until deallocation."""

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.address, self.length, not self.writable, flags)

    def __releasebuffer__(self, Py_buffer* buffer):
        pass

    def __len__(self):
        return self.length

    def __dealloc__(self):
        if self.range != NULL:
            with nogil:
                remove_range(self.range)            # BEFORE other memory can have the addresses
        if self.address != NULL and not self._is_part:  # a part's `_whole` may be cleared by now
            with nogil:                             # gigabytes take their time
                munmap(self.address, <size_t>self.length)
            self.address = NULL


cdef Mapping map_pages(int fd, int64_t length, bint writable, object where):
    cdef int protection = PROT_READ | PROT_WRITE if writable else PROT_READ
    cdef int kind = MAP_SHARED if fd >= 0 else MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    cdef void* address
    with nogil:
        address = mmap(NULL, <size_t>length, protection, kind, fd, 0)
    if address == MAP_FAILED:
        raise StorageError(f"cannot map {length} bytes", where=where, actual=os.strerror(errno),
                           hint="raise the limit on address space (ulimit -v) or vm.max_map_count, or use smaller terms")
    cdef Mapping mapping = Mapping.__new__(Mapping)
    mapping.address = <uint8_t*>address
    mapping.length = length
    mapping.writable = writable
    if fd >= 0:
        mapping.range = add_range(mapping.address, length, writable, os.fsencode(where))
    return mapping


cdef class Region:
    """A handle on mapped memory.

    Changed by: close() only.  `memoryview(region)` and every array made from it keep the pages mapped after close().
    Invariant: address is NULL exactly when length is 0, which is after close().
    """

    @staticmethod
    def create_file(path, int64_t length, sparse=True, checks_space=True):
        """Create the file `path` of `length` zero bytes and map it for reading and writing.

        Not sparse: all blocks are allocated now, so that no later write can fail.  Sparse: the file system is asked for
        that much free space first unless `checks_space` is false, but others may take it meanwhile.  Raises StorageSpaceError when there is no room (the
        file is removed again), MappedFileExistsError when `path` exists, StorageError for anything else.
        """
        name = os.fspath(path)
        if length <= 0:
            raise StorageError("cannot create an empty mapped file", where=name, expected="a length > 0", actual=length)
        if checks_space or not sparse:
            _check_free_space(Path(name).parent, length, name)
        try:
            fd = os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, FILE_MODE)
        except FileExistsError:
            raise MappedFileExistsError("file already exists", where=name) from None
        except FileNotFoundError:
            raise MappedFileMissingError("no such directory", where=Path(name).parent) from None
        except OSError as error:
            raise StorageError("cannot create file", where=name, actual=error.strerror) from None
        try:
            _size_file(fd, length, sparse, name)
            return _region(map_pages(fd, length, True, name), name, os.fstat(fd))
        except BaseException:
            os.unlink(name)
            raise
        finally:
            os.close(fd)

    @staticmethod
    def map_file(path, writable=True, minimum_length=1):
        """Map the whole of an existing file.

        Raises MappedFileMissingError, StorageError (permissions), or TruncatedFileError when the file is shorter than
        `minimum_length` bytes.
        """
        name = os.fspath(path)
        try:
            fd = os.open(name, (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            raise MappedFileMissingError("no such file", where=name) from None
        except OSError as error:
            hint = "part of its path is a file" if isinstance(error, NotADirectoryError) else "check owner and permissions of the directory"
            if error.errno == ELOOP:
                hint = "links are not followed: name the file itself"
            raise StorageError("cannot open file", where=name, actual=error.strerror, hint=hint) from None
        except ValueError:      # a file that names a directory, as a mark file does, may be damaged
            raise StorageError("no file can have this name", where=repr(name), expected="a path without NUL bytes") from None
        try:
            found = os.fstat(fd)
            length = found.st_size
            if not stat.S_ISREG(found.st_mode):
                raise StorageError("not a file", where=name, expected="a file",
                                   actual="a directory" if stat.S_ISDIR(found.st_mode) else "a device, pipe or socket")
            if length < max(1, minimum_length):
                raise TruncatedFileError("file is too short", where=name, expected=f">= {max(1, minimum_length)} bytes",
                                         actual=f"{length} bytes", hint="its writer may still be creating it, or the disk was full")
            return _region(map_pages(fd, length, writable, name), name, found)
        finally:
            os.close(fd)

    @staticmethod
    def anonymous(int64_t length):
        """Map `length` zero bytes that belong to no file; pages take memory when first written."""
        if length <= 0:
            raise StorageError("cannot map an empty region", expected="a length > 0", actual=length)
        return _region(map_pages(-1, length, True, "anonymous memory"), None, None)

    def sync(self) -> None:
        """Return when the pages of a mapped file are on the disk. Raises FileError; what was written since the last sync is lost then."""
        cdef int failure = 0
        if self.address == NULL:
            raise ClosedError("region is closed", where=self._path)
        with nogil:
            if msync(self.address, <size_t>self.length, MS_SYNC) != 0:
                failure = errno
        if failure:
            raise file_error("cannot sync a mapped file: what was written since the last sync is lost", self._path, failure)

    def first(self, int64_t length, path=None):
        """Return a region of the first `length` bytes of this one, the same memory: each keeps it mapped on its own."""
        if not 0 < length <= self.length:
            raise StorageError("cannot take a part of a region", where=self._path, expected=f"1 to {self.length} bytes", actual=length)
        cdef Mapping part = Mapping.__new__(Mapping)
        part.address = self.address
        part.length = length
        part.writable = self._mapping.writable
        part._whole = self._mapping
        part._is_part = True
        return _region(part, path, None)

    def share(self):
        """Return another handle on the same pages: closing one leaves the other open, as with two mappings of one file."""
        cdef Region other
        if self._mapping is None:
            raise ClosedError("region is closed", where=self._path)
        other = _region(self._mapping, self._path, None)
        other._device, other._inode = self._device, self._inode
        return other

    cdef object hold(self):
        return self._mapping

    @property
    def path(self):
        """File of the region as given, or None for anonymous memory."""
        return self._path

    @property
    def closed(self):
        return self.address == NULL

    @property
    def writable(self):
        return self._mapping is not None and self._mapping.writable

    def find_cut(self):
        """Return whether the file has become shorter than the mapping; count the pages that it has lost in `lost_pages`, once.

        Finds what no access tells: zeros in the page that the file's new end is in. A file that was deleted or replaced is not looked at.
        """
        if self._cut_length >= 0:
            return True
        if not self._measure_cut():
            return False
        count_lost_pages(self._mapping.range, <int32_t>min(<int64_t>LOST_PAGES_MAX,
                                                           (self.length - self._cut_length + PAGE_SIZE - 1) // PAGE_SIZE))
        return True

    cdef bint _measure_cut(self):
        # Sets _cut_length if the file is shorter than the mapping.
        cdef int64_t length
        if self._path is None or self.address == NULL or self._mapping.range == NULL:
            return False
        try:
            found = os.stat(self._path, follow_symlinks=False)
        except OSError:
            return False
        length = found.st_size
        if <int64_t>found.st_dev != self._device or <int64_t>found.st_ino != self._inode or length >= self.length:
            return False
        self._cut_length = length
        return True

    def guard(self):
        """Have pages that the file loses replaced by zeros, and counted in `lost_pages`, where SIGBUS is handled; returns the region.

        For owners that look at the count: what is read from such a page is not the file's, and what is written to it is lost.
        """
        if self._mapping is not None and self._mapping.range != NULL:
            self._mapping.range.is_guarded = 1
        return self

    @property
    def lost_pages(self):
        """Pages that were not in the file any more when they were needed, and were replaced by zeros, or that `find_cut` found missing."""
        if self._mapping is None or self._mapping.range == NULL:
            return 0
        return load_acquire_i32(&self._mapping.range.lost_pages)

    def lost_pages_error(self):
        """Return the error for a region that has lost pages: the same one for a cut that its length shows and one that SIGBUS has shown."""
        if self._cut_length >= 0 or self._measure_cut():
            return TruncatedFileError("a mapped file was cut short", where=self._path, expected=f"{self.length} bytes",
                                      actual=f"{self._cut_length} bytes", hint="another process cut the file: find and stop it")
        return TruncatedFileError("no memory behind a mapped file (SIGBUS)", where=self._path, expected=f"{self.length} bytes",
                                  actual=f"{self.lost_pages} pages fewer",
                                  hint="the file system is full, or another process cut the file: free space in /dev/shm or enlarge it, "
                                       "use shorter terms, or aeron.term.buffer.sparse.file=false to have the space reserved")

    def pre_touch(self, int64_t page_size=4096):
        """Write each page as it is, so that no later write faults.  Safe next to other writers: nothing is added, atomically."""
        cdef int64_t offset = 0
        cdef int64_t length = self.length
        cdef uint8_t* address = self.address
        if not self.writable:
            raise ClosedError("region is closed or read-only", where=self._path)
        with nogil:
            while offset + <int64_t>sizeof(int32_t) <= length:
                fetch_add_i32(address + offset, 0)
                offset += page_size

    def close(self):
        """Forget the mapping; it is unmapped when the last exported buffer and holder is gone.  Idempotent."""
        self.address = NULL
        self.length = 0
        self._mapping = None

    def __len__(self):
        return self.length

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        if self._mapping is None:
            raise ClosedError("region is closed", where=self._path)
        PyObject_GetBuffer(self._mapping, buffer, flags)     # the view's owner is the mapping, which outlives this handle

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()


cdef Region _region(Mapping mapping, object path, object found):
    cdef Region region = Region.__new__(Region)
    region._mapping = mapping
    region.address = mapping.address
    region.length = mapping.length
    region._path = path
    region._cut_length = -1
    if found is not None:
        region._device, region._inode = found.st_dev, found.st_ino
    return region


def free_space(directory) -> int:
    """Bytes that an unprivileged writer may still put on the file system of `directory`."""
    stats = os.statvfs(directory)
    return stats.f_bavail * stats.f_frsize


def _check_free_space(directory, length, where):
    try:
        available = free_space(directory)
    except FileNotFoundError:
        raise MappedFileMissingError("no such directory", where=directory) from None
    if available < length:
        raise _no_room(where, length, available)


def _no_room(where, length, available):
    return StorageSpaceError("no room for file", where=where, expected=f"{length} bytes free", actual=f"{available} bytes free",
                             hint="free space on that file system, enlarge it (mount -o remount,size=... /dev/shm), or use smaller terms")


cdef object _size_file(int fd, int64_t length, bint sparse, object name):
    cdef int failure
    if sparse:
        os.ftruncate(fd, length)
        return None
    while True:
        with nogil:
            failure = posix_fallocate(fd, 0, length)
        if failure != EINTR:
            break
    if failure == ENOSPC or failure == EDQUOT:
        raise _no_room(name, length, free_space(Path(name).parent))
    if failure != 0:
        raise StorageError("cannot allocate file", where=name, expected=f"{length} bytes", actual=os.strerror(failure))
    return None


cdef class _Borrowed:
    """Keeps a foreign buffer exported."""

    cdef Py_buffer view
    cdef bint held

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.view.buf, self.view.len, self.view.readonly, flags)

    def __releasebuffer__(self, Py_buffer* buffer):
        pass

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)


cdef object borrow(object source, BufferView* view, bint writable):
    """Fill `view` with the bytes of `source`; return what keeps them valid.  BufferError when it is read-only and must not be."""
    cdef _Borrowed borrowed = _Borrowed.__new__(_Borrowed)
    PyObject_GetBuffer(source, &borrowed.view, PyBUF_WRITABLE if writable else PyBUF_SIMPLE)
    borrowed.held = True
    view.address = <uint8_t*>borrowed.view.buf
    view.length = borrowed.view.len
    return borrowed


def address_of(source) -> int:
    """Address of a buffer's first byte; for tests of alignment."""
    cdef BufferView view
    keep = borrow(source, &view, False)
    return <uintptr_t>view.address
