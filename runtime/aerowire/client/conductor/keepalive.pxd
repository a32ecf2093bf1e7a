# The client's sign of life and its watch over the driver's, on a thread that never needs the interpreter.

from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.ports cimport WakeupPort
from aerowire.base.runner cimport NativeAgent
from aerowire.ipc.counters cimport CountersReader
from aerowire.ipc.heartbeat cimport HeartbeatWatch, LookClock
from aerowire.ipc.ring_buffer cimport ManyToOneRingBuffer

cdef enum Liveness:
    LIVENESS_OK = 0
    LIVENESS_DRIVER_TIMEOUT = 1         # the driver's heartbeat is too old
    LIVENESS_DRIVER_SHUTDOWN = 2        # the driver said that it ends
    LIVENESS_HEARTBEAT_LOST = 3         # the driver freed this client's heartbeat counter: it counts as dead
    LIVENESS_SERVICE_TIMEOUT = 4        # this thread stood still for so long that the driver has given the client up


cdef class KeepaliveAgent(NativeAgent):
    cdef ManyToOneRingBuffer _ring
    cdef CountersReader _counters
    cdef WakeupPort _wakeup
    cdef object _broadcast_hold
    cdef const uint8_t* _broadcast_tail
    cdef int64_t _tail_seen
    cdef int32_t _lost_pages_seen
    cdef int64_t _client_id
    cdef int64_t _driver_timeout_ms
    cdef int64_t _interval_ns
    cdef int64_t _service_timeout_ns
    cdef int64_t _last_service_ns
    cdef int64_t _last_keepalive_ns
    cdef int64_t _heartbeat_age_ms
    cdef LookClock _look
    cdef HeartbeatWatch _driver_beat
    cdef int64_t _beat_seen_ms          # the driver's last heartbeat
    cdef int64_t _beat_ms               # between its last two, at most the timeout
    cdef int64_t _service_gap_ns
    cdef int32_t _heartbeat_counter_id
    cdef int32_t _liveness
    cdef int32_t _is_retired

    cdef int check_driver(self) noexcept nogil
    cdef int keep_alive(self, int64_t epoch_ms) noexcept nogil
    cdef int32_t find_heartbeat(self) noexcept nogil
