# A stream between processes of one machine: the log is the transport.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.driver.queues.events cimport EventQueue
from aerowire.driver.event_log.stream_events cimport StreamEvents
from aerowire.driver.streams.subscribable cimport Subscribable
from aerowire.driver.queues.system_counters cimport SystemCounters
from aerowire.logbuffer.log cimport LogBuffers
from aerowire.protocol.lifecycle cimport PublicationLifecycle, UnblockTimer


@cython.final
cdef class IpcPublication(Subscribable):
    cdef LogBuffers _log
    cdef object _log_holder
    cdef SystemCounters _system
    cdef StreamEvents _stream_events         # None: nothing of it is noted
    cdef readonly int64_t registration_id
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t initial_term_id
    cdef readonly int32_t mtu
    cdef readonly bint is_exclusive
    cdef int32_t term_length
    cdef int bits
    cdef int32_t _window_length
    cdef int32_t _trip_gain
    cdef int64_t* _publisher_position
    cdef int64_t* _publisher_limit
    # conductor agent; others may read _consumer_position
    cdef PublicationLifecycle lifecycle
    cdef UnblockTimer _unblock
    cdef int64_t _consumer_position
    cdef int64_t _trip_limit
    cdef int64_t _clean_position
    cdef bint _linger_posted
    cdef bint _done_posted
    cdef int64_t _cool_down_ns              # how long nobody is linked after a rejection
    cdef int64_t _cool_down_ends_ns
    cdef bint _in_cool_down
    cdef object __weakref__

    cdef int update_limit(self) noexcept nogil
    cdef bint on_time_event(self, int64_t now_ns, EventQueue events) noexcept nogil    # True: forget it now
    cdef void on_closed(self) noexcept nogil
    cdef void on_rejected(self, int64_t now_ns) noexcept nogil
    cdef void _free_blocked(self) noexcept nogil
    cdef void _check_frame(self, int64_t now_ns) noexcept nogil
    cdef void _check_cool_down(self, int64_t now_ns, EventQueue events) noexcept nogil
    cdef bint _is_drained(self) noexcept nogil
