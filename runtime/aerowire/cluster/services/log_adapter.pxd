# The log of a cluster as a service reads it, up to the commit position.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.client.handles.buffers cimport NativeBuffer
from aerowire.client.subscriptions.image cimport Image


cdef struct Frame:                      # one frame of the log, as it was found
    const uint8_t* payload
    int32_t length                      # of the payload
    int32_t step                        # to the frame behind it
    int32_t next_offset                 # of that frame in the term
    uint8_t flags


cdef class RunArrays:
    cdef NativeBuffer memory
    cdef int32_t capacity
    cdef int32_t count
    cdef int64_t* session_ids
    cdef int64_t* timestamps
    cdef int64_t* positions
    cdef int32_t* offsets
    cdef int32_t* lengths

    cdef void put(self, int32_t index, int64_t session_id, int64_t timestamp, int64_t position, int32_t offset, int32_t length) noexcept nogil
    cdef bint is_reusable(self) noexcept


@cython.final
cdef class BoundedLogAdapter:
    """BoundedLogAdapter(on_message, on_event, on_batch=None, batch_limit=1024). The agent's thread."""

    cdef object _on_message
    cdef object _on_event
    cdef object _on_batch
    cdef int32_t _batch_limit
    cdef object _counters               # keeps the commit position's memory
    cdef const int64_t* _commit_position
    cdef Image _image
    cdef dict _sessions
    cdef object _last_session
    cdef int64_t _last_session_id
    cdef object _last_time              # a cluster time as an int of the interpreter
    cdef int64_t _last_time_value
    cdef list _parts                    # fragments of a message that is not complete
    cdef int32_t _next_part_offset      # where in the term the next one begins; -1: none is awaited
    cdef RunArrays _batch
    cdef bint _is_stopped               # the event that was handed over last ends the poll
    cdef readonly int64_t max_log_position
    cdef readonly int64_t log_position
    cdef readonly int64_t cluster_time

    # Whether a frame is there that may be read. The agent's thread, also while it sleeps.
    cdef bint has_work(self) noexcept nogil
    cdef int deliver(self, Frame* frame, int64_t position) except -1
    cdef int deliver_whole(self, const uint8_t* payload, int64_t length, int64_t position, bytes whole) except -1
    cdef int deliver_part(self, Frame* frame, int64_t position) except -1
    cdef int drop_parts(self) except -1
    cdef object session_of(self, int64_t session_id)
    cdef object time_of(self, int64_t timestamp)
    cdef int32_t scan_run(self, const uint8_t* term, int32_t offset, int32_t limit_offset, int32_t term_length, int64_t base) except -1
    cdef int deliver_run(self, object data) except -1
