# One publisher's stream as a subscriber reads it.

from libc.stdint cimport int64_t
from aerowire.client.subscriptions.batch cimport FragmentBatch
from aerowire.client.subscriptions.image_base cimport ImageBase


cdef class Image(ImageBase):
    cdef int poll_fragments(self, object handler, int fragment_limit, int64_t limit_position) except -1
    # As poll_fragments, where what a handler raises goes to the subscriber error handler.
    cdef int poll_reporting(self, object handler, int fragment_limit, int64_t limit_position) except -1
    cdef int poll_batch(self, FragmentBatch batch, int fragment_limit) except -1
