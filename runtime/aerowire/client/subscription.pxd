# The images of one channel and stream.

from libc.stdint cimport int32_t, int64_t
from aerowire.client.batch cimport BatchPool
from aerowire.client.state cimport Handle


cdef class Subscription(Handle):
    cdef tuple _images
    cdef BatchPool _batches
    cdef Py_ssize_t _next_index         # of the image that the next poll begins with
    cdef object _conductor
    cdef readonly object available_image_handler
    cdef readonly object unavailable_image_handler
    cdef readonly str channel
    cdef readonly int32_t stream_id
    cdef readonly int64_t registration_id
    cdef readonly int32_t channel_status_id

    cdef Py_ssize_t start_index(self, Py_ssize_t count) noexcept
