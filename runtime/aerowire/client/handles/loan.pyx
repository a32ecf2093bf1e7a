"""Something of a client on loan to a native agent, which works on it without the interpreter lock.

The client recalls it when the owner wants it back, and when its stream, the client or the driver ends. The agent looks at the top of each
cycle and gives it back: that is the last that it does with it. Until then the memory behind it stays mapped. Whoever lent it keeps a
reference until `is_returned`.
"""

import weakref

from aerowire.memory.atomics cimport cas_i32, load_acquire_i32, store_release_i32


cdef class Loan:
    """The base of what is lent: see LentImage, LentPublication, LentCounter.

    Changed by: the client, which recalls, and the agent, which gives back.
    """

    cdef int lend(self, object handle) except -1:
        self._handle = weakref.ref(handle)
        return 0

    cdef bint is_out(self) noexcept nogil:
        return load_acquire_i32(&self._state) == LOAN_OUT

    cdef void give_back(self) noexcept nogil:
        store_release_i32(&self._state, LOAN_RETURNED)

    @property
    def handle(self):
        """The image, publication or counter that was lent; None when it is gone."""
        return None if self._handle is None else self._handle()

    def recall(self) -> None:
        """Ask for it back. The agent gives it back at its next cycle. Idempotent."""
        cas_i32(&self._state, LOAN_OUT, LOAN_RECALLED)

    def return_now(self) -> None:
        """Give it back on behalf of an agent that does not run any more, or has never had it."""
        self.give_back()

    @property
    def is_recalled(self) -> bool:
        """Whether it is to be given back, or has been."""
        return load_acquire_i32(&self._state) != LOAN_OUT

    @property
    def is_returned(self) -> bool:
        """Whether the agent is done with it."""
        return load_acquire_i32(&self._state) == LOAN_RETURNED
