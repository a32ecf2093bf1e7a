# The images of one channel and stream.

from libc.stdint cimport int32_t, int64_t
from aerowire.client.subscriptions.batch cimport BatchPool
from aerowire.client.handles.stream_handle cimport StreamHandle


cdef class Subscription(StreamHandle):
    cdef tuple _images
    cdef object _reader                 # what loops over messages share, once there was one
    cdef BatchPool _batches
    cdef Py_ssize_t _next_index         # of the image that the next poll begins with
    cdef readonly object available_image_handler
    cdef readonly object unavailable_image_handler

    # What `call`, a loop over messages, reads by; raises where nothing may wait, and the timeout is not 0.
    cdef object reader(self, object timeout, str call)
    cdef int64_t poll_all_frames(self, object handler, int32_t length_limit, bint is_raw) except -1
    cdef Py_ssize_t start_index(self, Py_ssize_t count) noexcept
