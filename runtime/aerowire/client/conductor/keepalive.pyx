"""The client's sign of life and its watch over the driver's, on a thread that never needs the interpreter.

A C call that holds the interpreter lock for seconds stops every Python thread; this one goes on, so that the driver does not take the
process for dead. It writes the client's heartbeat counter, reads the driver's heartbeat, and wakes the conductor when the driver has
said something. Aeron: ClientConductor.checkLiveness.
"""

from aerowire.codecs.tables.options import OPTIONS

cimport cython
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t

from aerowire.codecs.native.cnc cimport (
    BROADCAST_TRAILER_LENGTH, BROADCAST_TRAILER_TAIL_OFFSET, CONSUMER_HEARTBEAT_CLOSED, COUNTER_STATE_ALLOCATED, COUNTER_STATE_UNUSED)
from aerowire.codecs.native.counters cimport COUNTER_TYPE_CLIENT_HEARTBEAT
from aerowire.ipc.counters cimport CountersReader, counter_set
from aerowire.ipc.heartbeat cimport HEARTBEAT_NS_PER_MS, heartbeat_age_ns, look_at_clocks
from aerowire.memory.atomics cimport load_acquire_i32, load_acquire_i64, load_relaxed_i64, store_relaxed_i64, store_release_i32
from aerowire.memory.lost_pages cimport lost_page_total
from aerowire.memory.region cimport BufferView, borrow

# A beat may be late by this share of what lies between two: a timeout no longer than that is not missed by a beat in time.
cdef int LATE_BEAT_SHARE = 8

OK = LIVENESS_OK
DRIVER_TIMEOUT = LIVENESS_DRIVER_TIMEOUT
DRIVER_SHUTDOWN = LIVENESS_DRIVER_SHUTDOWN
HEARTBEAT_LOST = LIVENESS_HEARTBEAT_LOST
SERVICE_TIMEOUT = LIVENESS_SERVICE_TIMEOUT


@cython.final
cdef class KeepaliveAgent(NativeAgent):
    """Changed by its own thread; the conductor reads `liveness` and retires it. Invariant: once liveness is not OK it stays as it is."""

    def __init__(self, ManyToOneRingBuffer ring not None, CountersReader counters not None, to_clients, WakeupPort wakeup not None, *,
                 int64_t client_id, int64_t driver_timeout_ms, int64_t interval_ns, int64_t service_timeout_ns):
        cdef BufferView view
        self._broadcast_hold = borrow(to_clients, &view, False)
        self._broadcast_tail = view.address + view.length - BROADCAST_TRAILER_LENGTH + BROADCAST_TRAILER_TAIL_OFFSET
        self._tail_seen = -1
        self._ring = ring
        self._counters = counters
        self._wakeup = wakeup
        self._client_id = client_id
        self._driver_timeout_ms = driver_timeout_ms
        self._interval_ns = interval_ns
        self._service_timeout_ns = service_timeout_ns
        self._heartbeat_counter_id = -1
        self._beat_ms = min(OPTIONS["timer_interval_ns"].default // 1_000_000, driver_timeout_ms)   # until two beats were seen

    @property
    def role_name(self):
        """Name of the agent, for its thread."""
        return "aeron-client-keepalive"

    @property
    def liveness(self):
        """OK, or the first thing that went wrong."""
        return load_acquire_i32(&self._liveness)

    @property
    def heartbeat_counter_id(self):
        """Counter that the driver keeps for this client's heartbeat; -1 until it is there."""
        return load_acquire_i32(&self._heartbeat_counter_id)

    @property
    def heartbeat_age_ms(self):
        """Age of the driver's heartbeat when it was found too old."""
        return load_relaxed_i64(&self._heartbeat_age_ms)

    @property
    def service_gap_ns(self):
        """How long this thread had stood still when that was found too long."""
        return load_relaxed_i64(&self._service_gap_ns)

    @property
    def last_cycle_ns(self):
        """Time of the last cycle. The thread of the agent."""
        return self._last_service_ns

    def retire(self):
        """Write no heartbeat from now on: the client ends, or is a copy in a forked child."""
        store_release_i32(&self._is_retired, 1)

    cdef int do_work(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        cdef int work = 0
        cdef int64_t tail = load_acquire_i64(self._broadcast_tail)
        cdef int found = LIVENESS_OK
        look_at_clocks(&self._look, now_ns, epoch_ms)
        cdef int32_t lost_pages = lost_page_total()
        if tail != self._tail_seen or lost_pages != self._lost_pages_seen:
            self._tail_seen = tail
            self._lost_pages_seen = lost_pages
            self._wakeup.signal()
            work = 1
        if self._liveness == LIVENESS_OK and not load_acquire_i32(&self._is_retired):
            if self._last_service_ns != 0 and now_ns - self._last_service_ns > self._service_timeout_ns:
                store_relaxed_i64(&self._service_gap_ns, now_ns - self._last_service_ns)
                found = LIVENESS_SERVICE_TIMEOUT
            else:
                found = self.check_driver()
            if found == LIVENESS_OK and (self._last_keepalive_ns == 0 or now_ns - self._last_keepalive_ns >= self._interval_ns
                                         or self._heartbeat_counter_id < 0):
                found = self.keep_alive(epoch_ms)
                self._last_keepalive_ns = now_ns
            if found != LIVENESS_OK:
                store_release_i32(&self._liveness, found)
                self._wakeup.signal()
        self._last_service_ns = now_ns
        return work

    cdef int64_t next_deadline_ns(self) noexcept nogil:
        if load_acquire_i64(self._broadcast_tail) != self._tail_seen or lost_page_total() != self._lost_pages_seen:
            return self._last_service_ns    # the driver has said something: at once
        if self._liveness != LIVENESS_OK or load_acquire_i32(&self._is_retired):
            return INT64_MAX
        return self._last_keepalive_ns + self._interval_ns

    cdef int check_driver(self) noexcept nogil:
        cdef int64_t heartbeat_ms = self._ring.consumer_heartbeat()
        if heartbeat_ms == CONSUMER_HEARTBEAT_CLOSED:
            return LIVENESS_DRIVER_SHUTDOWN
        if heartbeat_ms != self._beat_seen_ms:
            if self._beat_seen_ms > 0 and heartbeat_ms > 0:
                self._beat_ms = min(heartbeat_ms - self._beat_seen_ms, self._driver_timeout_ms)
            self._beat_seen_ms = heartbeat_ms
        cdef int64_t age_ms = heartbeat_age_ns(&self._driver_beat, &self._look, heartbeat_ms) // HEARTBEAT_NS_PER_MS
        if age_ms > self._driver_timeout_ms + max(self._beat_ms, 0) // LATE_BEAT_SHARE:
            store_relaxed_i64(&self._heartbeat_age_ms, age_ms)
            return LIVENESS_DRIVER_TIMEOUT
        return LIVENESS_OK

    cdef int keep_alive(self, int64_t epoch_ms) noexcept nogil:
        cdef int32_t counter_id = self._heartbeat_counter_id
        if counter_id < 0:
            counter_id = self.find_heartbeat()
            if counter_id < 0:
                return LIVENESS_OK  # the driver makes it at the client's first command
            store_release_i32(&self._heartbeat_counter_id, counter_id)
        elif (self._counters.counter_state(counter_id) != COUNTER_STATE_ALLOCATED
                or self._counters.counter_type_id(counter_id) != COUNTER_TYPE_CLIENT_HEARTBEAT
                or self._counters.counter_registration_id(counter_id) != self._client_id):
            return LIVENESS_HEARTBEAT_LOST
        counter_set(self._counters.value_address(counter_id), epoch_ms)
        return LIVENESS_OK

    cdef int32_t find_heartbeat(self) noexcept nogil:
        cdef int32_t counter_id, state
        for counter_id in range(self._counters.capacity):
            state = self._counters.counter_state(counter_id)
            if state == COUNTER_STATE_UNUSED:
                break
            if (state == COUNTER_STATE_ALLOCATED and self._counters.counter_type_id(counter_id) == COUNTER_TYPE_CLIENT_HEARTBEAT
                    and self._counters.counter_registration_id(counter_id) == self._client_id):
                return counter_id
        return -1
