# What sending and receiving endpoints share: a socket, whose it is, and how its failures are told.

from libc.stdint cimport int32_t, int64_t
from aerowire.base.ports cimport DatagramPort
from aerowire.driver.queues.events cimport ERROR_CODES_MAX, EventQueue
from aerowire.driver.queues.system_counters cimport SystemCounters


cdef class ChannelEndpoint:
    cdef readonly DatagramPort port      # None for a multi-destination endpoint
    cdef SystemCounters system
    cdef readonly int32_t ttl
    cdef readonly str channel
    cdef EventQueue events                  # None: failures are not told
    cdef int64_t _last_error_ns[ERROR_CODES_MAX]    # by code
    cdef int64_t _last_error[ERROR_CODES_MAX]
    cdef int64_t _reports_since_ns
    cdef int _reports
    cdef object __weakref__

    cdef int set_up(self, DatagramPort port, SystemCounters system, EventQueue events, int32_t ttl, str channel) except -1
    # Tell the conductor of a failure (NATIVE_ERROR), the same one at most once a second.
    cdef void report(self, int code, int64_t a, int64_t b, int64_t now_ns) noexcept nogil
