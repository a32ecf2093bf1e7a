# Polls whose handler says after each fragment how to go on.

from libc.stdint cimport int64_t
from aerowire.client.subscriptions.image_base cimport ImageBase

# Call `handler` for the fragments of an open image that are there and begin before `limit_position`; returns how many were taken.
cdef int poll_controlled(ImageBase image, object handler, int fragment_limit, int64_t limit_position) except -1
