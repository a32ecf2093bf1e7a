# A claimed frame: space in the log that the owner fills in place and then commits or aborts.

from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.client.handles.state cimport Handle


cdef class BufferClaim:
    cdef uint8_t* _frame            # the frame's header; NULL when nothing is claimed, or no longer
    cdef uint8_t* _body             # where the owner's bytes go: behind the header, and behind what was put before them
    cdef int64_t _result            # position after the frame, or why there is none
    cdef int32_t _length            # of those bytes
    cdef Handle _publication        # keeps the mapping
    cdef object _view               # a weak reference to the memoryview lent as `buffer`
    cdef Py_ssize_t _shape[1]

    # Write what stands before the owner's bytes, which begin behind it from now on. The claim is open and has room for it.
    cdef void put_prefix(self, const uint8_t* prefix, int32_t length) noexcept
    cdef int require_open(self) except -1
    cdef object finish(self)

cdef BufferClaim new_claim(uint8_t* frame, int64_t result, int32_t length, Handle publication)
