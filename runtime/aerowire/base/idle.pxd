# What an agent does between duty cycles that found nothing to do. One instance belongs to one thread.

from libc.stdint cimport int64_t


cdef class IdleStrategy:
    cdef readonly str alias             # Aeron's short name
    cdef object arguments               # of the constructor

    cdef void idle(self, int work_count) noexcept nogil     # work_count > 0 resets; Python: strategy(work_count)
    # As `idle(0)`, for a thread that gets new work only with a wake-up. A strategy that a wake-up ends may sleep for longer then.
    cdef void doze(self) noexcept nogil
    # As `idle`, but for the sleep: returns for how many ns the caller is to sleep now, 0 for not at all.
    cdef int64_t step(self, int work_count) noexcept nogil
    cdef void reset(self) noexcept nogil
    cdef IdleStrategy fresh(self)                           # another of the same parameters, for another thread
