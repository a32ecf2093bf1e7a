"""Native agents that share a thread, and come and go while it runs: those of a node's driver, archive and consensus module.

A guest is an invoker of native agents, started by who adds it and closed by who has removed it.
"""

from aerowire.memory.atomics cimport load_acquire_i64, load_relaxed_i64, store_release_i64


cdef class AgentGroup(NativeAgent):
    """Runs its guests in the order of their places.

    Changed by: the owner; `add`, `remove` and `forget`, of which one runs at a time.  Invariant: a guest whose place was cleared is not run any more
    once the group has begun two more cycles.
    """

    def __cinit__(self):
        self._kept = [None] * GUESTS_MAX

    cdef int do_work(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        cdef int work = 0
        cdef int place
        cdef int64_t guest
        store_release_i64(&self._cycles, self._cycles + 1)
        for place in range(GUESTS_MAX):
            guest = load_acquire_i64(<int64_t*>&self._guests[place])
            if guest != 0:
                work += (<AgentInvoker><void*>guest).run_once()
        return work

    cdef bint is_dormant(self) noexcept nogil:
        cdef int place
        cdef int64_t guest
        for place in range(GUESTS_MAX):
            guest = load_acquire_i64(<int64_t*>&self._guests[place])
            if guest != 0 and not (<AgentInvoker><void*>guest).is_dormant():
                return False
        return True

    @property
    def role_name(self) -> str:
        return "node"

    @property
    def cycles(self) -> int:
        """Duty cycles begun so far."""
        return load_relaxed_i64(&self._cycles)

    @property
    def is_empty(self) -> bool:
        """Whether there are no guests."""
        return all(guest is None for guest in self._kept)

    def add(self, AgentInvoker invoker not None) -> None:
        """Run an invoker, which was started, from the next cycle on. Raises ValueError for more than GUESTS_MAX, or Python agents."""
        cdef int place
        if not all(isinstance(agent, NativeAgent) for agent in invoker.agents):
            raise ValueError(f"guest of an agent group: expected native agents alone, actual {invoker.role_name}")
        if None not in self._kept:
            raise ValueError(f"guests of an agent group: expected at most {GUESTS_MAX}, actual one more: {invoker.role_name}")
        place = self._kept.index(None)
        self._kept[place] = invoker
        store_release_i64(<int64_t*>&self._guests[place], <int64_t><void*>invoker)

    def remove(self, AgentInvoker invoker not None) -> None:
        """Run an invoker no more. It may be closed once the group has begun two more `cycles`, or its thread has ended."""
        cdef int place = self._kept.index(invoker)
        store_release_i64(<int64_t*>&self._guests[place], 0)

    def forget(self, AgentInvoker invoker not None) -> None:
        """Give up the place of a guest that was removed, once it may be closed."""
        self._kept[self._kept.index(invoker)] = None
