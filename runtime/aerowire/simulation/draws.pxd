# Draws of chances and times in whole numbers alone: a logarithm of another C library would draw another world from the same seed.

from libc.stdint cimport int64_t, uint64_t
from aerowire.system.random cimport SeededRandom


# Draws nothing for a chance of 0.
cdef inline bint draw_chance(SeededRandom random, double chance) noexcept nogil:
    return chance > 0.0 and random.next_double() < chance


# Exponentially distributed with a mean of at most 2^42 ns, cut off at `most_ns`. Von Neumann's method: of uniform numbers that are drawn as
# long as they fall, the first is the fraction if their count is odd; each attempt before was a whole.
cdef inline int64_t draw_exponential(SeededRandom random, int64_t mean_ns, int64_t most_ns) noexcept nogil:
    cdef uint64_t whole = 0
    cdef uint64_t first, last, value, mean
    cdef bint is_odd
    if mean_ns <= 0:
        return 0
    while True:
        first = last = random.next_u64() >> 32
        is_odd = True
        value = random.next_u64() >> 32
        while value < last:
            last = value
            is_odd = not is_odd
            value = random.next_u64() >> 32
        if is_odd:
            break
        whole += 1
    mean = <uint64_t>mean_ns
    # The fraction of 32 bits in two steps, neither of which overflows.
    value = mean * whole + (mean >> 16) * first // <uint64_t>0x10000 + (mean & <uint64_t>0xFFFF) * first // <uint64_t>0x100000000
    return min(<int64_t>value, most_ns)
