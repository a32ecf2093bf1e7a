# A counter in the driver's counters buffer.

from libc.stdint cimport int32_t, int64_t
from aerowire.client.handles.state cimport Handle
from aerowire.ipc.counters cimport CountersReader


cdef class Counter(Handle):
    cdef int64_t* address
    cdef CountersReader _counters
    cdef object _conductor
    cdef readonly int32_t counter_id
    cdef readonly int64_t registration_id
    cdef readonly bint is_static

    cdef CountersReader counters(self)
    cdef int64_t* live_address(self) except NULL
