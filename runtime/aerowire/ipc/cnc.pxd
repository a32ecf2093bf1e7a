# cnc.dat: the file through which clients and driver meet.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.memory.region cimport Region


@cython.final
cdef class CncFile:
    """`create(path, ...)` by the driver, `map(path)` by clients and tools. Sections are memoryviews; machines over them are built on demand."""

    cdef Region _region
    cdef uint8_t* address
    cdef int64_t _offsets[6]            # of to-driver, to-clients, metadata, values, error log; end
    cdef object _path
    cdef object __weakref__

    cdef int _attach(self, Region region, object path, object lengths) except -1
    cdef object _section(self, int index)
    cdef int64_t heartbeat(self) noexcept nogil         # of the driver, epoch ms; any thread while not closed
