# What an image takes from datagrams. The receiver's thread.

from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.address cimport Address
from aerowire.driver.streams.publication_image cimport PublicationImage

# Whether it said something new; a heartbeat seldom does.
cdef bint insert_packet(PublicationImage image, uint8_t* packet, int32_t length, int transport_index, const Address* source,
                        int64_t now_ns) noexcept nogil
# Fill [begin, begin + length) with padding if nothing of it is there; whether it was.
cdef bint fill_missing(PublicationImage image, int32_t term_id, int32_t term_offset, int32_t length) noexcept nogil
