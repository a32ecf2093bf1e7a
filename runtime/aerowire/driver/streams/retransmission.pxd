# Sending again what a receiver misses. The sender's thread. Both return the bytes that were sent.

from libc.stdint cimport int64_t, uint8_t
from aerowire.driver.streams.network_publication cimport NetworkPublication

# Answer a valid NAK: at once, after a delay, or not at all while the same is being repaired.
cdef int64_t on_nak(NetworkPublication publication, const uint8_t* frame, int64_t now_ns, int64_t budget) noexcept nogil
# Send what waits for its delay to be over.
cdef int64_t resend_due(NetworkPublication publication, int64_t now_ns, int64_t budget) noexcept nogil
