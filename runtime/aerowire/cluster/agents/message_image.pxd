# An image as a native agent reads it: whole messages, each of which may be left for later.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.client.lending.lent_image cimport LentImage
from aerowire.cluster.agents.drop_counts cimport DropCounts
from aerowire.logbuffer.block_reader cimport LogBlock


@cython.final
cdef class MessageImage:
    """MessageImage(loan). The agent's from its command until its final event."""

    cdef readonly LentImage loan
    cdef readonly int64_t image_id      # the correlation id of the image
    cdef readonly str source_identity   # of the image, which may be gone when its message is handled
    cdef bint is_held                   # until the conductor has taken the message before
    cdef bint is_malformed              # a frame cannot be stepped over: nothing behind it can be read

    # The message at hand, once `next` has said so; until `take` it is the same.
    cdef const uint8_t* message
    cdef int32_t length
    cdef int64_t end_position           # behind its last frame

    cdef LogBlock _block
    cdef int32_t _offset                # in the block, of the next frame
    cdef int32_t _step                  # of the message's last frame
    cdef bint _has_message
    cdef uint8_t* _buffer               # of the message that is being put together
    cdef int32_t _capacity
    cdef int32_t _collected             # bytes in it; -1: no message has begun
    cdef int64_t _next_position         # at which its next fragment begins

    # Find the next message that ends at a position or before. False: none is there yet. Fragments of an unfinished one are collected.
    cdef bint next(self, int64_t limit_position, DropCounts drops) noexcept nogil
    cdef void take(self) noexcept nogil                 # be done with the message at hand
    cdef void count_read(self) noexcept nogil           # let the publisher write over what was taken
    cdef int64_t position(self) noexcept nogil          # behind all that was taken or collected
    cdef bint is_end_of_stream(self) noexcept nogil

    cdef bint _read_block(self, int64_t limit_position) noexcept nogil
    cdef bint _accept(self, const uint8_t* frame, int32_t frame_length, int32_t step, DropCounts drops) noexcept nogil
    cdef bint _collect(self, const uint8_t* payload, int32_t length) noexcept nogil
