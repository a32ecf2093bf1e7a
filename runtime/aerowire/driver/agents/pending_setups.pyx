"""Set-ups that a receiver asked for and waits for. Aeron: PendingSetupMessageFromSource."""

from libc.stdint cimport INT64_MAX, int32_t, int64_t
from libc.stdlib cimport free

cimport cython

from aerowire.driver.media.receive_endpoint cimport ReceiveEndpoint
from aerowire.memory.growing cimport grow
from aerowire.protocol.data_packet_dispatcher cimport SESSION_PENDING_SETUP

cdef int WALKED_EVERY_CYCLE = 64            # more of them every CHECK_INTERVAL_NS
cdef int64_t CHECK_INTERVAL_NS = 10_000_000


@cython.final
cdef class PendingSetups:
    """An unordered array, walked from the end so that an item can be removed on the way."""

    def __dealloc__(self):
        free(self._items)

    cdef bint add(self, void* endpoint, int transport_index, int32_t session_id, int32_t stream_id, bint periodic, const Address* source,
                  int64_t now_ns) noexcept nogil:
        # A flood can fill the places of sessions; the periodic ones, one for each socket with a control address, have their own.
        if not periodic and self.count >= PENDING_SETUPS_MAX:
            return False
        if self.count == self._capacity and not grow(<void**>&self._items, &self._capacity, sizeof(PendingSetup), 2 * PENDING_SETUPS_MAX):
            return False
        self._items[self.count].endpoint = endpoint
        self._items[self.count].asked_ns = now_ns
        self._items[self.count].session_id = session_id
        self._items[self.count].stream_id = stream_id
        self._items[self.count].periodic = periodic
        self._items[self.count].transport_index = transport_index
        self._items[self.count].source = source[0]
        self.count += 1
        return True

    cdef int check(self, int64_t now_ns) noexcept nogil:
        # In steps of 10 ms: a flood of data without set-ups fills the table, and each cycle would walk it.
        cdef int i = self.count - 1
        cdef int work_count = 0
        cdef PendingSetup* pending
        if self.count > WALKED_EVERY_CYCLE and self._check_deadline_ns - now_ns > 0:
            return 0
        self._check_deadline_ns = now_ns + CHECK_INTERVAL_NS
        while i >= 0:
            pending = &self._items[i]
            if pending.asked_ns + PENDING_SETUP_TIMEOUT_NS - now_ns <= 0:
                if not pending.periodic:
                    (<ReceiveEndpoint>pending.endpoint).dispatcher.forget_session(pending.stream_id, pending.session_id, SESSION_PENDING_SETUP)
                    self._remove_at(i)
                    work_count += 1
                else:
                    pending.asked_ns = now_ns
                    if not (<ReceiveEndpoint>pending.endpoint).dispatcher.is_empty():
                        (<ReceiveEndpoint>pending.endpoint).elicit_setup(pending.transport_index, &pending.source, pending.session_id,
                                                                         pending.stream_id, now_ns)
                        work_count += 1
            i -= 1
        return work_count

    cdef void _remove_at(self, int index) noexcept nogil:
        self.count -= 1
        self._items[index] = self._items[self.count]

    cdef void forget(self, void* endpoint, int transport_index) noexcept nogil:
        cdef int i = self.count - 1
        while i >= 0:
            if self._items[i].endpoint is endpoint and transport_index in (-1, self._items[i].transport_index):
                self._remove_at(i)
            i -= 1

    cdef int64_t next_deadline_ns(self) noexcept nogil:
        cdef int64_t deadline = INT64_MAX
        cdef int i
        for i in range(self.count):
            if self._items[i].asked_ns + PENDING_SETUP_TIMEOUT_NS < deadline:
                deadline = self._items[i].asked_ns + PENDING_SETUP_TIMEOUT_NS
        return deadline
