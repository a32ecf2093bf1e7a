"""How the scheduler treats a thread that would run all the time, and one that sleeps: how long it stands still, how late it is woken.

Native, and without the interpreter lock, so that what is measured is the machine and not Python.
"""

cimport cython
from libc.stdint cimport int64_t
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, nanosleep, timespec

cdef enum:
    NANOS_PER_S = 1000000000
    READINGS = 10000


cdef inline int64_t now() noexcept nogil:
    cdef timespec time
    clock_gettime(CLOCK_MONOTONIC, &time)
    return <int64_t>time.tv_sec * NANOS_PER_S + time.tv_nsec


@cython.final
cdef class HiccupSampler:
    """A histogram of standstills. Changed by `spin` and `sleep`, which run for as long as they are told to, one at a time.

    Invariant: `count` is the sum of the buckets, `longest_ns` the longest of what they count, `total_ns` their sum; `elapsed_ns` is how
    long it took to count them.
    """

    def spin(self, int64_t duration_ns, *, int64_t threshold_ns=1000):
        """Read the clock without a pause for `duration_ns`; count the gaps of `threshold_ns` or more between two readings."""
        with nogil:
            self._spin(duration_ns, threshold_ns)

    def sleep(self, int64_t duration_ns, *, int64_t period_ns=1000000):
        """Sleep for `period_ns` again and again for `duration_ns`; count by how much each sleep was longer."""
        with nogil:
            self._sleep(duration_ns, period_ns)

    def buckets(self):
        """Return (upper bound in ns, count) of each bucket that counts anything, ascending; the bound is not included."""
        cdef int bucket
        return [(<int64_t>1 << bucket, self._buckets[bucket]) for bucket in range(HICCUP_BUCKETS) if self._buckets[bucket]]

    def percentile(self, double percent):
        """Return an upper bound in ns for `percent` of what was counted; 0 when nothing was."""
        cdef int64_t wanted, seen = 0
        cdef int bucket
        if self.count == 0:
            return 0
        wanted = <int64_t>(self.count * percent / 100 + 0.5)
        for bucket in range(HICCUP_BUCKETS):
            seen += self._buckets[bucket]
            if seen >= wanted and seen > 0:
                return min(<int64_t>1 << bucket, self.longest_ns)
        return self.longest_ns

    cdef void _note(self, int64_t value_ns) noexcept nogil:
        cdef int bucket = 0
        cdef int64_t rest = value_ns
        while rest > 0 and bucket < HICCUP_BUCKETS - 1:
            rest >>= 1
            bucket += 1
        self._buckets[bucket] += 1
        self.count += 1
        self.total_ns += value_ns
        if value_ns > self.longest_ns:
            self.longest_ns = value_ns

    cdef void _spin(self, int64_t duration_ns, int64_t threshold_ns) noexcept nogil:
        cdef int64_t begin = now()
        cdef int64_t last = begin, end = begin + duration_ns
        cdef int64_t reading
        while last < end:
            reading = now()
            if reading - last >= threshold_ns:
                self._note(reading - last)
            last = reading
        self.elapsed_ns += last - begin

    cdef void _sleep(self, int64_t duration_ns, int64_t period_ns) noexcept nogil:
        cdef int64_t begin = now()
        cdef int64_t end = begin + duration_ns
        cdef int64_t late
        cdef timespec period
        period.tv_sec = period_ns // NANOS_PER_S
        period.tv_nsec = period_ns % NANOS_PER_S
        while begin < end:
            nanosleep(&period, NULL)
            late = now() - begin - period_ns
            self._note(late if late > 0 else 0)
            self.elapsed_ns += late + period_ns
            begin = now()


def clock_reading_ns() -> float:
    """Return what it takes to read the clock once, the best of three rows."""
    cdef int64_t begin, best = 0
    cdef int row, reading
    for row in range(3):
        begin = now()
        for reading in range(READINGS):
            now()
        begin = now() - begin
        if row == 0 or begin < best:
            best = begin
    return best / <double>READINGS
