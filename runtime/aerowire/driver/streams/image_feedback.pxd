# What an image sends back to its sender.

from libc.stdint cimport int64_t
from aerowire.driver.streams.publication_image cimport PublicationImage

# Send what is due: status messages, NAKs, the end of the stream. The receiver's thread; returns the work done, to which a message that
# only its timer called for does not count.
cdef int answer_sender(PublicationImage image, int64_t now_ns) noexcept nogil
# What the sender answered to a measurement. Both times come from the network.
cdef void on_rtt_measurement(PublicationImage image, int64_t echo_timestamp_ns, int64_t reception_delta_ns, int64_t now_ns) noexcept nogil
