# A run of whole frames, lent where they lie in an image's log.

from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.client.subscriptions.image_base cimport ImageBase


cdef class Block:
    cdef ImageBase _image
    cdef object _term_view
    cdef const uint8_t* _address
    cdef int64_t _begin_position
    cdef bint _is_held
    cdef readonly int32_t length
    cdef readonly int32_t session_id
    cdef readonly int32_t term_id
    cdef readonly int32_t term_offset

    cdef object index_frames(self)
    # Bytes from the frame at `offset` of the block to the next one, and its length. Raises MalformedFrameError.
    cdef int32_t step_at(self, int32_t offset, int32_t* length) except -1
    cdef object changed(self, int32_t offset, int32_t length)

# The next block of an open image; an empty one when nothing is there.
cdef Block lend(ImageBase image, int32_t length_limit)

# Call `handler` with the frames that lie next in an open image's log, padding included, and with the file they are in when `is_raw`; then
# move its position past them. Returns their bytes.
cdef int32_t poll_frames(ImageBase image, object handler, int32_t length_limit, bint is_raw) except -1
