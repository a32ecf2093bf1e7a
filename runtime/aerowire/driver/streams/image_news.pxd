# What an image's conductor agent tells its receiver's half: two small records, each guarded by a change number on both sides.
#
# The conductor agent raises `begin`, writes, then raises `end`; the receiver reads `end`, the record, then `begin`. When the two
# differ it has read a mixture and looks again in its next cycle. Aeron: PublicationImage, beginSmChange and endSmChange.

from libc.stdint cimport int32_t, int64_t
from aerowire.memory.atomics cimport (
    acquire_fence, load_acquire_i64, load_relaxed_i32, load_relaxed_i64, release_fence, store_relaxed_i32, store_relaxed_i64,
    store_release_i64)

cdef struct StatusNews:
    int64_t begin
    int64_t end
    int64_t position
    int32_t window

cdef struct LossNews:
    int64_t begin
    int64_t end
    int32_t term_id
    int32_t term_offset
    int32_t length


cdef inline void status_news_tell(StatusNews* news, int64_t position, int32_t window) noexcept nogil:
    cdef int64_t change = news.begin + 1
    store_relaxed_i64(&news.begin, change)
    release_fence()
    store_relaxed_i64(&news.position, position)
    store_relaxed_i32(&news.window, window)
    store_release_i64(&news.end, change)

cdef inline int64_t status_news_number(const StatusNews* news) noexcept nogil:
    return load_acquire_i64(&news.end)

cdef inline bint status_news_read(const StatusNews* news, int64_t change, int64_t* position, int32_t* window) noexcept nogil:
    # False: it is being written
    position[0] = load_relaxed_i64(&news.position)
    window[0] = load_relaxed_i32(&news.window)
    acquire_fence()
    return change == load_relaxed_i64(&news.begin)

cdef inline void loss_news_tell(LossNews* news, int32_t term_id, int32_t term_offset, int32_t length) noexcept nogil:
    cdef int64_t change = news.begin + 1
    store_relaxed_i64(&news.begin, change)
    release_fence()
    store_relaxed_i32(&news.term_id, term_id)
    store_relaxed_i32(&news.term_offset, term_offset)
    store_relaxed_i32(&news.length, length)
    store_release_i64(&news.end, change)

cdef inline int64_t loss_news_number(const LossNews* news) noexcept nogil:
    return load_acquire_i64(&news.end)

cdef inline bint loss_news_read(const LossNews* news, int64_t change, int32_t* term_id, int32_t* term_offset, int32_t* length) noexcept nogil:
    # False: it is being written
    term_id[0] = load_relaxed_i32(&news.term_id)
    term_offset[0] = load_relaxed_i32(&news.term_offset)
    length[0] = load_relaxed_i32(&news.length)
    acquire_fence()
    return change == load_relaxed_i64(&news.begin)
