# Sums and differences that wrap, as term ids and counters in shared memory do. A signed overflow elsewhere is a defect, and `make asan` finds it.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t


cdef inline int32_t wrapping_add(int32_t a, int32_t b) noexcept nogil:
    return <int32_t>(<uint32_t>a + <uint32_t>b)

cdef inline int32_t wrapping_subtract(int32_t a, int32_t b) noexcept nogil:
    return <int32_t>(<uint32_t>a - <uint32_t>b)

cdef inline int64_t wrapping_add_long(int64_t a, int64_t b) noexcept nogil:
    return <int64_t>(<uint64_t>a + <uint64_t>b)

cdef inline int64_t wrapping_subtract_long(int64_t a, int64_t b) noexcept nogil:
    return <int64_t>(<uint64_t>a - <uint64_t>b)
