# Plain native memory with a read-only face for Python.

from libc.stdint cimport int64_t, uint8_t


cdef class NativeBuffer:
    cdef uint8_t* address
    cdef int64_t capacity
