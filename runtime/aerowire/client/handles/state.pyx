"""The life of a handle: open, then closed, ended with its client, or a copy in a forked child."""

from aerowire.base.errors import AerowireError, ClosedError, ForkedProcessError
from aerowire.base.fork import call_in_child

OPEN = STATE_OPEN
CLOSED = STATE_CLOSED
UNAVAILABLE = STATE_UNAVAILABLE
TERMINATED = STATE_TERMINATED
FORKED = STATE_FORKED
KILLED = STATE_KILLED

# How many forks lie between the first process and this one: a handle of another number is a copy.
cdef int32_t process_generation = 0


def _enter_child():
    global process_generation
    process_generation += 1


call_in_child(_enter_child)


cdef class Handle:
    """What publications, subscriptions, images and counters share: a state that only ever leaves open."""

    def __cinit__(self):
        self._process_generation = process_generation

    @property
    def is_closed(self):
        """Whether the handle is of no use any more: closed, its stream gone, or its client ended."""
        return not self.is_live()

    def _end(self, int state, failure=None):
        """Conductor: leave the open state for `state`; `failure` is what ended the client."""
        if self.is_live() or state == STATE_FORKED or state == STATE_KILLED:
            self.ended_by = failure
            self.handle_state = state
            if self.loan is not None:
                self.loan.recall()

    def _ensure_open(self):
        """Raise what says that the client is closed, or why it has ended; nothing while it is open."""
        if self.handle_state != STATE_OPEN:
            self.raise_not_open()

    def take_back(self) -> None:
        """Use it again after a loan. Raises AerowireError while an agent has it: recall the loan and wait until it `is_returned`."""
        if self.loan is None:
            return
        if not self.loan.is_returned:
            raise AerowireError("an agent has not given it back yet", where=self, hint="recall() the loan; its agent answers at its next cycle")
        self.loan = None
        if self.handle_state == STATE_LENT:
            self.handle_state = STATE_OPEN

    cdef int begin_loan(self, Loan loan) except -1:
        self._ensure_open()
        if self.loan is not None:
            raise AerowireError("it is on loan already", where=self, hint="take it back first")
        loan.lend(self)
        self.loan = loan
        return 0

    cdef bint is_live(self) noexcept nogil:
        return self.handle_state == STATE_OPEN or self.handle_state == STATE_LENT

    cdef bint is_forked(self) noexcept nogil:
        return self._process_generation != process_generation

    cdef bint is_disowned(self) noexcept nogil:
        return self.handle_state == STATE_KILLED or self.is_forked()

    cdef object raise_not_open(self):
        if self.handle_state == STATE_FORKED or self._process_generation != process_generation:
            raise forked_error(self)
        if self.handle_state == STATE_LENT:
            raise AerowireError("it is on loan to an agent", where=self, hint="recall() the loan, then take_back()")
        if self.handle_state == STATE_TERMINATED and self.ended_by is not None:
            raise failure_copy(self.ended_by)
        raise self.closed_error()(
            "already closed", where=self, expected="an open one", actual="closed by close(), with its client, or with its stream",
            hint="add it again, to a client that is open; an image comes again with its publisher")

    cdef object closed_error(self):
        return ClosedError


def forked_error(what: object) -> ForkedProcessError:
    """Return the error for using, in a child process, what its parent opened."""
    return ForkedProcessError(
        "opened before fork() and used in the child", where=what, expected="an object of this process's own",
        hint="call Aeron.connect() in the child")


def failure_copy(failure: AerowireError) -> AerowireError:
    """Return an error that says the same: the first one keeps its traceback, and each call gets its own."""
    copy = type(failure)(
        failure.what, where=failure.where, expected=failure.expected, actual=failure.actual, hint=failure.hint,
        error_code=failure.error_code)
    copy.__cause__ = failure
    return copy
