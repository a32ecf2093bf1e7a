"""What loses datagrams that come in by what they say: some of a kind, one place of a term, or many gaps of it.

Same arguments, same datagrams, same fates as with the C driver, whose interceptors of incoming datagrams these are; but its key for
what it remembers is the same for all streams with one negative session id.
Aeron: aeron_udp_channel_transport_loss.c, _fixed_loss.c, _multi_gap_loss.c.
"""

cimport cython
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint32_t, uint64_t

from aerowire.codecs.native.transport cimport (
    DATA_HEADER_LENGTH, FRAME_HEADER_LENGTH, FRAME_TYPE_DATA, data_header_session_id, data_header_stream_id, data_header_term_id,
    data_header_term_offset, frame_header_type)
from aerowire.protocol.pointer_map cimport PointerEntry, PointerMap, pair_key

cdef enum:
    STREAMS_MAX = 65536         # that are remembered; of others nothing is lost
    TYPES = 32                  # of frames that a mask has bits for

# Of POSIX's linear congruence of 48 bits.
cdef uint64_t MULTIPLIER = 0x5DEECE66D
cdef uint64_t INCREMENT = 0xB
cdef uint64_t STATE_MASK = (<uint64_t>1 << 48) - 1


cdef class LossInterceptor:
    """Loses nothing."""

    cdef bint drops(self, const Datagram* item) noexcept nogil:
        return False


@cython.final
cdef class RandomLoss(LossInterceptor):
    """Loses a share of the datagrams whose type's bit is in `types`. The dice are POSIX's erand48."""

    def __cinit__(self, *, double rate=0.0, seed=0, types=0):
        self._rate = rate
        self._types = types & 0xFFFFFFFF
        # The seed's lowest 16 bits are the state's highest.
        self._state = (seed & 0xFFFF) << 32 | (seed >> 16 & 0xFFFF) << 16 | seed >> 32 & 0xFFFF

    cdef bint drops(self, const Datagram* item) noexcept nogil:
        cdef int32_t kind
        if self._rate <= 0.0 or item.length < FRAME_HEADER_LENGTH:
            return False
        kind = frame_header_type(item.buffer)
        return 0 <= kind < TYPES and (self._types >> kind & 1) != 0 and self.next_double() <= self._rate

    cdef double next_double(self) noexcept nogil:
        self._state = (self._state * MULTIPLIER + INCREMENT) & STATE_MASK
        return <double>self._state / <double>(STATE_MASK + 1)


cdef class GapLoss(LossInterceptor):
    """Loses what of a term falls into gaps, once for each stream and session."""

    def __cinit__(self, **arguments):
        self._lost_to = PointerMap(STREAMS_MAX)
        self._last_offset = INT64_MAX

    cdef bint drops(self, const Datagram* item) noexcept nogil:
        cdef int64_t key, limit
        cdef int32_t offset
        cdef PointerEntry* entry
        if item.length < DATA_HEADER_LENGTH or frame_header_type(item.buffer) != FRAME_TYPE_DATA:
            return False
        if data_header_term_id(item.buffer) != self._term_id:
            return False
        offset = data_header_term_offset(item.buffer)
        if offset > self._last_offset:
            return False
        limit = offset + <int64_t>item.length
        key = pair_key(data_header_stream_id(item.buffer), data_header_session_id(item.buffer))
        entry = self._lost_to.find(key)
        if entry is NULL:
            entry = self._lost_to.put(key, <void*>(<int64_t>offset + 1))
        if entry is NULL or not self.falls(offset, limit, <int64_t>entry.value - 1):
            return False
        entry.value = <void*>(limit + 1)
        return True

    cdef bint falls(self, int32_t offset, int64_t limit, int64_t lost_to) noexcept nogil:
        return False


@cython.final
cdef class FixedLoss(GapLoss):
    """Loses each stream's data of one term from where it is first seen to `term_offset + length`, one datagram after the other."""

    def __cinit__(self, *, int32_t term_id=0, int64_t term_offset=0, int64_t length=0):
        self._term_id = term_id
        self._limit = term_offset + length

    cdef bint falls(self, int32_t offset, int64_t limit, int64_t lost_to) noexcept nogil:
        return lost_to < self._limit and offset <= lost_to < limit


@cython.final
cdef class MultiGapLoss(GapLoss):
    """Loses what touches the first `gap_length` bytes at each multiple of a radix but the first, `total_gaps` times.

    The radix is the next power of two of `gap_radix`.
    """

    def __cinit__(self, *, int32_t term_id=0, int64_t gap_radix, int64_t gap_length=0, int64_t total_gaps=0):
        if gap_radix < 1:
            raise ValueError(f"gap radix: expected at least 1, actual {gap_radix}")
        self._term_id = term_id
        self._radix = 1 << (<object>gap_radix - 1).bit_length()
        self._gap_length = gap_length
        self._last_offset = total_gaps * gap_radix + gap_length

    cdef bint falls(self, int32_t offset, int64_t limit, int64_t lost_to) noexcept nogil:
        cdef int64_t gap = offset & ~(self._radix - 1)      # the one that begins at or before it
        if lost_to > offset:
            return False
        if gap > 0 and (offset == gap or offset < gap + self._gap_length):
            return True
        gap += self._radix
        return limit > gap and offset < gap + self._gap_length
