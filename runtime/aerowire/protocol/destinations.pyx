"""Where a channel of several destinations sends to, and who was heard from there. It sends nothing itself."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memmove, memset

cimport cython

from aerowire.base.address cimport AF_INET, Address, address_family, address_from, address_ip, address_port, address_to
from aerowire.memory.growing cimport grow

cdef int64_t DESTINATION_TIMEOUT_NS = 5_000_000_000
cdef int64_t NO_REGISTRATION = -1
DESTINATIONS_LIMIT = DESTINATIONS_MAX


cdef inline bint is_same_host(const Address* a, const Address* b) noexcept nogil:
    return address_family(a) == address_family(b) and memcmp(address_ip(a), address_ip(b), 4 if address_family(a) == AF_INET else 16) == 0


@cython.final
cdef class Destinations:
    """The destinations of one channel. Aeron: ManualSndMultiDestination, DynamicSndMultiDestination.

    A dynamic channel learns them from status messages and forgets them after 5 s of silence; a manual one has those that were
    registered, and tells which of them are silent. Invariant: count <= DESTINATIONS_MAX; of a dynamic channel (receiver, port)
    are distinct. Times in ns.
    """

    def __cinit__(self, *, bint dynamic):
        self.dynamic = dynamic

    def __dealloc__(self):
        free(self.items)

    cdef bint add(self, int64_t registration_id, const Address* address, int64_t now_ns) noexcept nogil:
        return self._append(address, registration_id, 0, False, now_ns)

    cpdef bint remove(self, int64_t registration_id) noexcept nogil:
        """Forget the first destination of that registration; return False when there is none."""
        cdef int i
        for i in range(self.count):
            if self.items[i].registration_id == registration_id:
                self.count -= 1
                memmove(&self.items[i], &self.items[i + 1], (self.count - i) * sizeof(Destination))
                return True
        return False

    cdef bint update(self, int64_t registration_id, const Address* address) noexcept nogil:
        cdef int i
        for i in range(self.count):
            if self.items[i].registration_id == registration_id:
                self.items[i].address = address[0]
                return True
        return False

    cdef bint on_status_message(self, int64_t receiver_id, const Address* source, int64_t now_ns) noexcept nogil:
        # Note who was heard; True when that made a new destination.
        cdef int i
        self.is_full = False
        for i in range(self.count):
            if self._is_match(&self.items[i], receiver_id, source):
                self.items[i].receiver_id = receiver_id
                self.items[i].is_receiver_known = True
                self.items[i].heard_ns = now_ns
                return False
        if not self.dynamic:
            return False
        self.is_full = not self._append(source, NO_REGISTRATION, receiver_id, True, now_ns)
        return not self.is_full

    cdef int64_t find_registration_id(self, int64_t receiver_id, const Address* source) noexcept nogil:
        cdef int i
        for i in range(self.count):
            if self._is_match(&self.items[i], receiver_id, source):
                return self.items[i].registration_id
        return NO_REGISTRATION

    cpdef int next_first(self) noexcept nogil:
        """Return the index that the next datagrams go to first: each destination has its turn."""
        cdef int first = self._next_first if self._next_first < self.count else 0
        self._next_first = first + 1
        return first

    cpdef int remove_silent(self, int64_t now_ns) noexcept nogil:
        """Forget the destinations of a dynamic channel that were silent too long; return how many."""
        cdef int before = self.count
        cdef int i = self.count - 1
        while self.dynamic and i >= 0:
            if self.items[i].heard_ns + DESTINATION_TIMEOUT_NS - now_ns < 0:
                self.count -= 1
                self.items[i] = self.items[self.count]
            i -= 1
        return before - self.count

    cpdef int64_t poll_silent(self, int64_t now_ns) noexcept nogil:
        """Return the registration of the next destination that was silent too long, -1 when none was; it then has as long again."""
        cdef int i
        for i in range(self.count):
            if self.items[i].heard_ns + DESTINATION_TIMEOUT_NS - now_ns < 0:
                self.items[i].heard_ns = now_ns
                return self.items[i].registration_id
        return NO_REGISTRATION

    cdef bint _is_match(self, const Destination* item, int64_t receiver_id, const Address* source) noexcept nogil:
        # A receiver once known is known by its id and port: behind a translator its host may change.
        if address_port(source) != address_port(&item.address):
            return False
        return item.receiver_id == receiver_id if item.is_receiver_known else is_same_host(source, &item.address)

    cdef bint _append(self, const Address* address, int64_t registration_id, int64_t receiver_id, bint is_receiver_known, int64_t now_ns) noexcept nogil:
        if self.count == self._capacity and not grow(<void**>&self.items, &self._capacity, sizeof(Destination), DESTINATIONS_MAX):
            return False
        memset(&self.items[self.count], 0, sizeof(Destination))
        self.items[self.count].address = address[0]
        self.items[self.count].registration_id = registration_id
        self.items[self.count].receiver_id = receiver_id
        self.items[self.count].is_receiver_known = is_receiver_known
        self.items[self.count].heard_ns = now_ns
        self.count += 1
        return True

    # ---- faces for tests

    def add_address(self, int64_t registration_id, address, int64_t now_ns) -> bool:
        """Register a destination at (host, port); return False when there are too many."""
        cdef Address native
        address_from(&native, address)
        return self.add(registration_id, &native, now_ns)

    def update_address(self, int64_t registration_id, address) -> bool:
        """Send to another address from now on; return False for an unknown registration."""
        cdef Address native
        address_from(&native, address)
        return self.update(registration_id, &native)

    def hear(self, int64_t receiver_id, source, int64_t now_ns) -> bool:
        """Note a status message of a receiver; return True when it made a new destination."""
        cdef Address native
        address_from(&native, source)
        return self.on_status_message(receiver_id, &native, now_ns)

    def registration_of(self, int64_t receiver_id, source) -> int:
        """Return the registration of the destination that a frame came from, -1 for none."""
        cdef Address native
        address_from(&native, source)
        return self.find_registration_id(receiver_id, &native)

    def addresses(self) -> list:
        """Return where datagrams go, as (host, port)."""
        return [address_to(&self.items[i].address) for i in range(self.count)]
