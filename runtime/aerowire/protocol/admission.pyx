"""Limit on the sessions that are new in a second, with a share for each stream and for senders that ask again."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free

cimport cython

from aerowire.protocol.pointer_map cimport PointerEntry, pair_key

cdef int64_t SECOND_NS = 1_000_000_000
# What a session that was not heard before takes of its stream's share, beside one that comes again: a sender asks again after 100 ms, a
# flood of made-up sessions does not.
cdef int64_t FRESH_COST = 4


@cython.final
cdef class SessionAdmission:
    """Leaky buckets that hold one second of work: one for all streams, and one for each stream. Sans-I/O, of fixed size.

    A stream may fill its own bucket as far as the common one has room left. Sessions that were not heard before may fill half of that
    only, and each of them takes four times as much of the stream's bucket (not of the common one). A flood of new sessions on one stream
    thus leaves a part of the rate to other streams, and a part to sessions of its own stream that come again, as a sender does that got
    no answer. A session is remembered only after it was refused.
    """

    def __cinit__(self, *, int64_t rate):
        if rate < 0:
            raise ValueError(f"sessions a second: expected at least 0, actual {rate}")
        self._interval_ns = SECOND_NS // rate if rate else 0
        self._streams = PointerMap(ADMISSION_STREAMS_MAX)

    def __dealloc__(self):
        free(self._recent)

    cpdef bint admit(self, int32_t stream_id, int32_t session_id, int64_t now_ns) noexcept nogil:
        """Return whether a session may be served now; if not, it is remembered, so that it has priority when it comes again."""
        cdef PointerEntry* stream
        cdef int64_t room, level, empty_ns
        cdef int64_t cost_ns = self._interval_ns
        cdef bint has_room, repeated
        if self._interval_ns == 0:
            return True
        room = SECOND_NS - max(self._empty_ns - now_ns, 0)
        stream = self._streams.find(stream_id)
        empty_ns = now_ns if stream is NULL else <int64_t><size_t>stream.value
        level = max(empty_ns - now_ns, 0)
        has_room = room > 0 and level <= room >> 1
        repeated = (self._recent is not NULL or not has_room) and self.is_repeated(stream_id, session_id, now_ns)
        if not has_room and not (repeated and 0 < room >= level):
            return False
        if not repeated:
            cost_ns = min(FRESH_COST * self._interval_ns, SECOND_NS)
        self._empty_ns = max(self._empty_ns, now_ns) + self._interval_ns
        self._streams.put(stream_id, <void*><size_t>(max(empty_ns, now_ns) + cost_ns))
        return True

    cpdef void forget_stream(self, int32_t stream_id) noexcept nogil:
        """Forget the share of a stream that is no longer wanted."""
        self._streams.remove(stream_id)

    cpdef bint is_repeated(self, int32_t stream_id, int32_t session_id, int64_t now_ns) noexcept nogil:
        """Return whether a session was refused a while ago, and remember that it is refused now."""
        # A place holds one session; a newer one takes it over. A flood can push out a part of those that wait, never all.
        cdef int64_t key = pair_key(stream_id, session_id)
        cdef RecentSession* recent
        cdef int64_t age_ns
        if self._recent is NULL:
            self._recent = <RecentSession*>calloc(RECENT_SESSIONS, sizeof(RecentSession))
            if self._recent is NULL:
                return False
        recent = &self._recent[(<uint64_t>key * <uint64_t>0x9E3779B97F4A7C15ULL) >> 32 & (RECENT_SESSIONS - 1)]
        age_ns = now_ns - recent.refused_ns
        if recent.key != key or recent.refused_ns == 0 or age_ns > REPEAT_MAX_NS:
            recent.key = key
            recent.refused_ns = now_ns
            return False
        return age_ns >= REPEAT_MIN_NS
