# Mapped memory: a file or anonymous pages, unmapped when the last holder is gone.

cimport cython
from libc.stdint cimport int64_t, uint8_t

from aerowire.memory.lost_pages cimport MappedRange


@cython.final
cdef class Mapping:
    """The pages themselves; unmapped at deallocation. Hold one for as long as a borrowed pointer is in use."""

    cdef uint8_t* address
    cdef int64_t length
    cdef bint writable
    cdef MappedRange* range             # NULL for anonymous memory
    cdef Mapping _whole                 # the mapping whose first pages these are, None for one of its own
    cdef bint _is_part                  # its pages are unmapped with the whole


@cython.final
cdef class Region:
    """A handle on a Mapping. `close()` forgets it; buffers exported before and `hold()` keep the pages alive."""

    cdef uint8_t* address       # NULL once closed
    cdef int64_t length         # 0 once closed
    cdef Mapping _mapping
    cdef object _path
    cdef int64_t _device        # of the file, with its inode: another file may take its name
    cdef int64_t _inode
    cdef int64_t _cut_length    # of the file when it was found to be shorter than the mapping; -1 before

    cdef bint _measure_cut(self)
    cdef object __weakref__

    cdef object hold(self)      # the Mapping: keep a reference while native code uses `address`


cdef struct BufferView:         # a borrowed (pointer, length) with its holder released by release_view
    uint8_t* address
    int64_t length


# `source` is a Region, Mapping or any contiguous buffer. Returns the object to keep; fills `view`. Raises on a non-buffer or too short one.
cdef object borrow(object source, BufferView* view, bint writable)
