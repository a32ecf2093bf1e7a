"""How many messages an agent has dropped, by reason: nothing is lost uncounted."""

from libc.stdint cimport int64_t

cimport cython

from enum import IntEnum

from aerowire.memory.atomics cimport load_relaxed_i64, store_relaxed_i64

DropReason = IntEnum(
    "DropReason",
    {member.removeprefix("DROP_"): int(code) for member, code in DropReasonCode.__members__.items() if code != DROP_REASONS},
    module=__name__,
)


cdef class DropCounts:
    """Counts by DropReason. Changed by: the agent."""

    cdef void add(self, DropReasonCode reason) noexcept nogil:
        store_relaxed_i64(&self._counts[<int>reason], self._counts[<int>reason] + 1)

    def __getitem__(self, int reason) -> int:
        """Return how many were dropped for a reason; any thread."""
        if not 0 <= reason < DROP_REASONS:
            raise IndexError(f"reason: expected a DropReason, actual {reason}")
        return load_relaxed_i64(&self._counts[reason])

    @property
    def total(self) -> int:
        """How many were dropped; any thread."""
        return sum(self[reason] for reason in DropReason)
