"""Plain native memory with a read-only buffer face; freed when its last view is gone."""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc


@cython.final
cdef class NativeBuffer:
    """`capacity` bytes that native code writes and Python reads."""

    def __cinit__(self, int64_t capacity):
        self.address = <uint8_t*>malloc(capacity if capacity > 0 else 1)
        if self.address is NULL:
            raise MemoryError(f"no room for {capacity} bytes")
        self.capacity = capacity

    def __dealloc__(self):
        free(self.address)

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.address, self.capacity, 1, flags)
