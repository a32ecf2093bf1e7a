# What the handles of a channel and stream share, publications and subscriptions.

from libc.stdint cimport int32_t, int64_t
from aerowire.client.handles.state cimport Handle


cdef class StreamHandle(Handle):
    cdef object conductor
    cdef readonly str channel
    cdef readonly int32_t stream_id
    cdef readonly int64_t registration_id
    cdef readonly int32_t channel_status_id

    # Raise BlockingCallError where nothing may wait; `instead` does not.
    cdef int require_waiting(self, str call, str instead) except -1
