# An image on loan to a native agent.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.client.handles.loan cimport Loan
from aerowire.ipc.owned_counter cimport OwnedCounter
from aerowire.logbuffer.block_reader cimport LogBlock, LogTerms


@cython.final
cdef class LentImage(Loan):
    cdef LogTerms _log
    cdef OwnedCounter _position
    cdef int64_t _read_to           # the furthest end of a block that was read
    cdef const uint8_t* _metadata
    cdef object _hold               # keeps what the addresses lead to mapped
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id

    # The agent's side, on its own thread.
    cdef int64_t position(self) noexcept nogil                  # of the subscriber: what has been read and counted
    # The block at a position from the subscriber's on: see read_block, whose result it is. BLOCK_NONE once the image is recalled.
    cdef int32_t read(self, int64_t position, int64_t limit_position, int32_t length_limit, LogBlock* block) noexcept nogil
    # Count what was read up to a position as read, so that the publisher may write over it. False, and nothing was moved, once the image is
    # recalled or its counter is another's, and for a position behind the subscriber's or beyond what was read.
    cdef bint move_to(self, int64_t position) noexcept nogil
    cdef int64_t end_of_stream_position(self) noexcept nogil    # INT64_MAX until the publication has ended
    cdef bint is_revoked(self) noexcept nogil
