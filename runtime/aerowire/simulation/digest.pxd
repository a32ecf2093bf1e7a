# Digests of what happens in a world: the same values in the same order give the same 64 bits, on every machine of this byte order.

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy


cdef inline uint64_t digest_number(uint64_t digest, uint64_t value) noexcept nogil:
    digest = (digest ^ value) * <uint64_t>0x9E3779B97F4A7C15
    return digest ^ (digest >> 29)


# Eight octets at a time: a packet is as long as a hundred numbers.
cdef inline uint64_t digest_octets(uint64_t digest, const uint8_t* octets, int length) noexcept nogil:
    cdef uint64_t value
    cdef int offset = 0
    digest = digest_number(digest, <uint64_t>length)
    while offset + 8 <= length:
        memcpy(&value, octets + offset, 8)
        digest = digest_number(digest, value)
        offset += 8
    if offset < length:
        value = 0
        memcpy(&value, octets + offset, length - offset)
        digest = digest_number(digest, value)
    return digest
