# Many fragments at once, copied out of the log.

from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.client.handles.buffers cimport NativeBuffer


cdef class FragmentBatch:
    cdef NativeBuffer _data             # payloads, one behind the other
    cdef NativeBuffer _index            # offsets i64[count + 1], sessions i32[count], flags u8[count], each for the capacity
    cdef int32_t _capacity              # fragments that the index has room for
    cdef int32_t count

    cdef int64_t* offsets_address(self) noexcept nogil
    cdef int32_t* sessions_address(self) noexcept nogil
    cdef uint8_t* flags_address(self) noexcept nogil
    # Make room for `count` more fragments, and for `payload_length` more bytes. Keeps what is there.
    cdef int reserve(self, int32_t count, int64_t payload_length) except -1
    cdef int grow_index(self, int32_t capacity) except -1
    # Whether nobody but the caller's one reference holds it or a view of it.
    cdef bint is_reusable(self) noexcept
    # Copy fragments from the term at `offset`, stepping over padding, as far as they are published, `term_length`, `count`, the room
    # that is reserved and *paddings, which counts down for each frame of padding, allow. Returns the offset after the last.
    cdef int32_t take(self, const uint8_t* term, int32_t offset, int32_t term_length, int32_t count, int32_t* paddings) noexcept nogil
    cdef object item(self, Py_ssize_t index)
    cdef object array_of(self, int64_t start, int64_t count, str form)


cdef class BatchPool:
    cdef FragmentBatch _older
    cdef FragmentBatch _newer

    # An empty batch to be filled. Belongs to the reader's thread.
    cdef FragmentBatch take(self)
