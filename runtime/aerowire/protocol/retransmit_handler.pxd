# What a sender sends again when a receiver asks, and what it refuses for a while.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.protocol.delay cimport DelayGenerator

cdef enum:
    RETRANSMIT_INACTIVE = 0
    RETRANSMIT_DELAYED = 1
    RETRANSMIT_LINGERING = 2

cdef enum:
    NAK_IGNORED = 0
    NAK_RESEND = 1              # resend_* says what, now
    NAK_SCHEDULED = 2           # poll_resend will say so later
    NAK_OVERFLOW = 3            # every action of the pool is in use

cdef enum:
    UNICAST_ACTIONS = 64        # ranges that are remembered for one receiver: it asks for its gaps one after another
    # Bytes of a request that is answered though every action is in use, for one receiver: two datagrams. A receiver that misses that many
    # single datagrams within a linger is repaired as ever, and a forged request moves no more than this.
    UNREMEMBERED_LENGTH_MAX = 4096

cdef struct RetransmitAction:
    int64_t expiry_ns
    int32_t term_id
    int32_t term_offset
    int32_t length
    int32_t state


@cython.final
cdef class RetransmitHandler:
    """A pool of actions: `max_resend` for a group."""

    cdef RetransmitAction* _actions
    cdef int _count
    cdef int _active
    cdef bint _group
    cdef DelayGenerator _delay
    cdef DelayGenerator _linger
    cdef readonly int32_t resend_term_id    # what NAK_RESEND or poll_resend asks for
    cdef readonly int32_t resend_term_offset
    cdef readonly int32_t resend_length
    # what of the last NAK on_nak has not decided about yet: hand it in again; length 0: nothing
    cdef readonly int32_t rest_offset
    cdef readonly int32_t rest_length

    # length: already clipped by flow control
    cpdef int on_nak(self, int32_t term_id, int32_t term_offset, int32_t length, int64_t now_ns, bint later=*) noexcept nogil
    cpdef bint poll_resend(self, int64_t now_ns) noexcept nogil
    cpdef int64_t next_deadline_ns(self) noexcept nogil
    cdef void _ask(self, RetransmitAction* action, int64_t now_ns) noexcept nogil
    cdef RetransmitAction* _find_free(self, int32_t length) noexcept nogil
    cdef void _leave_out_answered(self, int32_t term_id, int32_t* term_offset, int32_t* length) noexcept nogil
