# What a publication makes of the frames that come back to it. The sender's thread; frames are valid.

from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.address cimport Address
from aerowire.driver.queues.events cimport EventQueue
from aerowire.driver.streams.network_publication cimport NetworkPublication

# Whether a status message speaks of a place near what was sent.
cdef bint accepts_status_message(NetworkPublication publication, const uint8_t* frame) noexcept nogil
# Returns whether it may have moved anything: what waits, the limit, or that there is a receiver.
cdef bint on_status_message(NetworkPublication publication, const uint8_t* frame, int32_t length, EventQueue events,
                              int64_t now_ns) noexcept nogil
cdef void on_setup_request(NetworkPublication publication, const uint8_t* frame, int32_t length, const Address* source,
                             int64_t now_ns) noexcept nogil
cdef void on_rtt_measurement(NetworkPublication publication, const uint8_t* frame, int64_t now_ns) noexcept nogil
cdef void on_error(NetworkPublication publication, const uint8_t* frame, const Address* source, int64_t destination_registration_id,
                     EventQueue events, int64_t now_ns) noexcept nogil
cdef void on_response_setup(NetworkPublication publication, const uint8_t* frame, EventQueue events, int64_t now_ns) noexcept nogil
