# Checksums of recorded frames and of catalog entries: CRC-32 and CRC-32C.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t


cdef enum ChecksumKind:
    CHECKSUM_NONE = 0
    CHECKSUM_CRC_32 = 1
    CHECKSUM_CRC_32C = 2


# The checksum of some bytes, as it stands in a file; 0 of CHECKSUM_NONE. Of a frame it covers what follows the header, with the padding up
# to the next frame, and stands in the place of the session id; padding frames have none.
cdef int32_t compute_checksum(int32_t kind, const uint8_t* data, int64_t length) noexcept nogil


@cython.final
cdef class Checksum:
    cdef readonly int32_t kind
    cdef readonly str name
