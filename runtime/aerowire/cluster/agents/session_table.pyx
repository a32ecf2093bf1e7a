"""The open sessions of clients, as the leader's agent looks them up for each message that comes in.

An open session is one whose SessionOpenEvent is in the log. The conductor adds a session before its client hears that it is open, the
append of that event opens it, and the conductor takes it out before it closes it. All else about a session is the conductor's to know.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free

from aerowire.memory.atomics cimport load_acquire_i64, store_release_i64

cdef enum:
    FIRST_CAPACITY = 64
    NULL_VALUE = -1


cdef class OpenSession:
    """A session that may append to the log. Changed by: the agent, once it was added."""

    def __cinit__(self, int64_t cluster_session_id, int64_t time_of_last_activity_ns, *, bint is_open=True):
        self.cluster_session_id = cluster_session_id
        self.is_open = is_open
        self._time_of_last_activity_ns = time_of_last_activity_ns
        self._ingress_image_id = NULL_VALUE

    cdef void touch(self, int64_t now_ns) noexcept nogil:
        store_release_i64(&self._time_of_last_activity_ns, now_ns)

    cdef void link_image(self, int64_t image_id) noexcept nogil:
        if self._ingress_image_id == NULL_VALUE:
            store_release_i64(&self._ingress_image_id, image_id)

    @property
    def time_of_last_activity_ns(self) -> int:
        """When the client sent a message or a keep-alive last, by the agent's clock; any thread."""
        return load_acquire_i64(&self._time_of_last_activity_ns)

    @property
    def ingress_image_id(self) -> int:
        """The image that the client's keep-alives come by, as a correlation id; -1 while that is unknown. Any thread.

        Aeron: ClusterSession.linkIngressImage.
        """
        return load_acquire_i64(&self._ingress_image_id)


cdef inline uint64_t _spread(int64_t key) noexcept nogil:
    # session ids count from 1 in a good cluster; a client may name any
    return <uint64_t>key * <uint64_t>0x9E3779B97F4A7C15 >> 32


cdef class SessionTable:
    """Sessions by id: open addressing, linear probing, and removal that leaves no marks.

    Changed by: the agent. Invariant: no free slot lies between a session and the slot that its id leads to.
    """

    def __cinit__(self):
        self._capacity = FIRST_CAPACITY
        self._slots = <void**>calloc(FIRST_CAPACITY, sizeof(void*))
        if self._slots is NULL:
            raise MemoryError("table of sessions")

    def __dealloc__(self):
        free(self._slots)

    cdef bint put(self, OpenSession session) noexcept nogil:
        cdef int slot = self._slot_of(session.cluster_session_id)
        if self._slots[slot] is not NULL:
            return False
        if 2 * (self.count + 1) > self._capacity:
            if self._capacity >= SESSIONS_MAX or not self._resize(2 * self._capacity):
                return False
            slot = self._slot_of(session.cluster_session_id)
        self._slots[slot] = <void*>session
        self.count += 1
        return True

    cdef void* find(self, int64_t cluster_session_id) noexcept nogil:
        return self._slots[self._slot_of(cluster_session_id)]

    cdef bint take_out(self, int64_t cluster_session_id) noexcept nogil:
        cdef int hole = self._slot_of(cluster_session_id)
        cdef int slot, home
        cdef int mask = self._capacity - 1
        if self._slots[hole] is NULL:
            return False
        slot = hole
        while True:
            slot = (slot + 1) & mask
            if self._slots[slot] is NULL:
                break
            home = <int>(_spread((<OpenSession>self._slots[slot]).cluster_session_id) & <uint64_t>mask)
            if (slot - home & mask) >= (slot - hole & mask):      # it may move back into the hole
                self._slots[hole] = self._slots[slot]
                hole = slot
        self._slots[hole] = NULL
        self.count -= 1
        return True

    cdef int _slot_of(self, int64_t cluster_session_id) noexcept nogil:
        # where the session is, or would be put
        cdef int mask = self._capacity - 1
        cdef int slot = <int>(_spread(cluster_session_id) & <uint64_t>mask)
        while self._slots[slot] is not NULL and (<OpenSession>self._slots[slot]).cluster_session_id != cluster_session_id:
            slot = (slot + 1) & mask
        return slot

    cdef bint _resize(self, int capacity) noexcept nogil:
        cdef void** old = self._slots
        cdef int old_capacity = self._capacity
        cdef int i
        cdef void** slots = <void**>calloc(capacity, sizeof(void*))
        if slots is NULL:
            return False
        self._slots = slots
        self._capacity = capacity
        for i in range(old_capacity):
            if old[i] is not NULL:
                self._slots[self._slot_of((<OpenSession>old[i]).cluster_session_id)] = old[i]
        free(old)
        return True

    # -- Python faces ----------------------------------------------------------------------------------------------------------------

    def add(self, OpenSession session not None) -> bool:
        """Add a session, which the caller keeps; return whether its id was free."""
        return self.put(session)

    def remove(self, int64_t cluster_session_id) -> bool:
        """Take a session out; return whether it was there."""
        return self.take_out(cluster_session_id)

    def get(self, int64_t cluster_session_id):
        """Return a session, or None."""
        cdef void* found = self.find(cluster_session_id)
        return None if found is NULL else <object><PyObject*>found
