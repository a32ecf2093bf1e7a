# Where the valid recordings of a catalog are, by recording id.

cimport cython
from libc.stdint cimport int64_t


cdef struct IndexRow:
    int64_t recording_id
    int64_t offset


@cython.final
cdef class CatalogIndex:
    cdef IndexRow* _rows        # ascending by recording id
    cdef int _count
    cdef int _capacity
