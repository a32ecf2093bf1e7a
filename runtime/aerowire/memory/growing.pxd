# Arrays that grow by doubling up to a limit, for agents that must not touch Python objects.

from libc.stdlib cimport realloc

cdef enum:
    GROW_FIRST = 8              # items that the first allocation has room for

# Make room for more items; False when there are `most` already, or no memory: the array is then as it was.
cdef inline bint grow(void** items, int* capacity, size_t item_size, int most) noexcept nogil:
    cdef int wanted = capacity[0] * 2 if capacity[0] else GROW_FIRST
    cdef void* grown
    if wanted > most:
        wanted = most
    if wanted <= capacity[0]:
        return False
    grown = realloc(items[0], <size_t>wanted * item_size)
    if grown is NULL:
        return False
    items[0] = grown
    capacity[0] = wanted
    return True
