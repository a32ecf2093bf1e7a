# Payloads of one length, copied out of the log into the rows of an array.

from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.client.subscriptions.image_base cimport ImageBase


cdef class FixedLengthRows:
    """Rows(array): the items along the first axis of a writable C-contiguous buffer, which stays exported while this lives."""

    cdef Py_buffer _view
    cdef uint8_t* address
    cdef int64_t row_length
    cdef int64_t count
    cdef readonly int64_t filled

# Fill rows with payloads of an open image and move its position. False: full, or a payload of another length is next.
cdef bint poll_rows(ImageBase image, FixedLengthRows rows) except *
