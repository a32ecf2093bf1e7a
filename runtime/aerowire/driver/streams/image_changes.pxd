# What an image's conductor agent tells its receiver's half: two small records, each guarded by a change number on both sides.
#
# The conductor agent raises `begin`, writes, then raises `end`; the receiver reads `end`, the record, then `begin`. When the two
# differ it has read a mixture and looks again in its next cycle. Aeron: PublicationImage, beginSmChange and endSmChange.

from libc.stdint cimport int32_t, int64_t
from aerowire.memory.atomics cimport (
    acquire_fence, load_acquire_i64, load_relaxed_i32, load_relaxed_i64, release_fence, store_relaxed_i32, store_relaxed_i64,
    store_release_i64)

cdef struct StatusChange:
    int64_t begin
    int64_t end
    int64_t position
    int32_t window

cdef struct LossChange:
    int64_t begin
    int64_t end
    int32_t term_id
    int32_t term_offset
    int32_t length


cdef inline void status_change_write(StatusChange* record, int64_t position, int32_t window) noexcept nogil:
    cdef int64_t change = record.begin + 1
    store_relaxed_i64(&record.begin, change)
    release_fence()
    store_relaxed_i64(&record.position, position)
    store_relaxed_i32(&record.window, window)
    store_release_i64(&record.end, change)

cdef inline int64_t status_change_number(const StatusChange* record) noexcept nogil:
    return load_acquire_i64(&record.end)

cdef inline bint status_change_read(const StatusChange* record, int64_t change, int64_t* position, int32_t* window) noexcept nogil:
    # False: it is being written
    position[0] = load_relaxed_i64(&record.position)
    window[0] = load_relaxed_i32(&record.window)
    acquire_fence()
    return change == load_relaxed_i64(&record.begin)

cdef inline void loss_change_write(LossChange* record, int32_t term_id, int32_t term_offset, int32_t length) noexcept nogil:
    cdef int64_t change = record.begin + 1
    store_relaxed_i64(&record.begin, change)
    release_fence()
    store_relaxed_i32(&record.term_id, term_id)
    store_relaxed_i32(&record.term_offset, term_offset)
    store_relaxed_i32(&record.length, length)
    store_release_i64(&record.end, change)

cdef inline int64_t loss_change_number(const LossChange* record) noexcept nogil:
    return load_acquire_i64(&record.end)

cdef inline bint loss_change_read(const LossChange* record, int64_t change, int32_t* term_id, int32_t* term_offset, int32_t* length) noexcept nogil:
    # False: it is being written
    term_id[0] = load_relaxed_i32(&record.term_id)
    term_offset[0] = load_relaxed_i32(&record.term_offset)
    length[0] = load_relaxed_i32(&record.length)
    acquire_fence()
    return change == load_relaxed_i64(&record.begin)
