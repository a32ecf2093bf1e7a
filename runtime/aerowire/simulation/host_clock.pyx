"""The clock of one host over the true time of its world: a wall clock that is off, drifts and jumps, and a monotonic one that only drifts."""

from libc.stdint cimport INT64_MAX, int64_t, uint64_t

cimport cython

from aerowire.base.arguments import whole_number, wrong_type
from aerowire.base.errors import ConfigurationError
from aerowire.base.ports cimport ClockPort
from aerowire.simulation.digest cimport digest_number

cdef int64_t NS_PER_SECOND = 1_000_000_000
cdef int64_t PPB_PER_PPM = 1_000
DRIFT_PPM_MAX = 100_000.0       # a tenth; crystals are wrong by 20 to 100
JUMP_NS_MAX = 1 << 60           # 36 years: an hour is what people get wrong, 1970 what a flat battery does


@cython.final
cdef class HostClock(ClockPort):
    """HostClock(world): what a host takes for the time, `world` being the true time.

    The wall clock begins `offset_ns` away from the world's, the monotonic one at `start_ns`, which is the world's without it; both gain
    `drift_ppm` microseconds a second. Changed by set_drift(), jump() and restart(). Invariant: monotonic time never steps back but by a
    restart, whatever is changed.
    """

    def __cinit__(self, ClockPort world not None, *, offset_ns=0, drift_ppm=0.0, start_ns=None):
        self._world = world
        self._wall_ns = world.epoch_ns() + <int64_t>whole_number("offset_ns", offset_ns, -JUMP_NS_MAX, JUMP_NS_MAX, where="HostClock")
        self._begin(world.nano_time() if start_ns is None else start_ns)
        self._wall_ns -= self._monotonic_ns
        self.set_drift(drift_ppm)

    cdef int64_t nano_time(self) noexcept nogil:
        return self._read(self.monotonic_at(self._world.nano_time()))

    cdef int64_t epoch_ns(self) noexcept nogil:
        return self._read(self.monotonic_at(self._world.nano_time()) + self._wall_ns)

    def set_drift(self, drift_ppm) -> None:
        """Let the clock gain `drift_ppm` microseconds a second from now on, or lose them where it is negative."""
        if isinstance(drift_ppm, bool) or not isinstance(drift_ppm, (int, float)):
            raise wrong_type("drift_ppm", drift_ppm, "a number", "HostClock")
        if not -DRIFT_PPM_MAX <= drift_ppm <= DRIFT_PPM_MAX:
            raise ConfigurationError("drift_ppm is out of range", where="HostClock", expected=f"-{DRIFT_PPM_MAX:.0f} to {DRIFT_PPM_MAX:.0f}",
                                     actual=drift_ppm)
        self._begin(self.monotonic_at(self._world.nano_time()))
        self._drift_ppb = round(drift_ppm * PPB_PER_PPM)

    def jump(self, by_ns) -> None:
        """Set the wall clock forward, or back where `by_ns` is negative. Monotonic time does not notice."""
        self._wall_ns += <int64_t>whole_number("by_ns", by_ns, -JUMP_NS_MAX, JUMP_NS_MAX, where="HostClock.jump")

    def restart(self, int64_t start_ns=0) -> None:
        """Let monotonic time begin again, as it does when a host is started; the wall clock goes on."""
        cdef int64_t wall_ns = self.monotonic_at(self._world.nano_time()) + self._wall_ns
        self._begin(start_ns)
        self._wall_ns = wall_ns - start_ns

    def true_ns_of(self, int64_t deadline_ns) -> int:
        """Return the first true time at which the host's monotonic clock shows `deadline_ns` or more; 2^63-1 for a deadline that is never."""
        return self.true_time_of(deadline_ns)

    @property
    def drift_ppm(self) -> float:
        """Microseconds that it gains in a second."""
        return <double>self._drift_ppb / PPB_PER_PPM

    @property
    def offset_ns(self) -> int:
        """How far the wall clock is ahead of the world's."""
        return self.monotonic_at(self._world.nano_time()) + self._wall_ns - self._world.epoch_ns()

    @property
    def trace_hash(self) -> int:
        """Digest of every time that was read."""
        return self._digest

    cdef int64_t monotonic_at(self, int64_t true_ns) noexcept nogil:
        # Seconds and the rest apart: neither product overflows, and the sum is exact.
        cdef int64_t elapsed_ns = true_ns - self._true_ns
        cdef int64_t gained = (elapsed_ns // NS_PER_SECOND) * self._drift_ppb
        return self._monotonic_ns + elapsed_ns + gained + floor_of((elapsed_ns % NS_PER_SECOND) * self._drift_ppb)

    cdef int64_t true_time_of(self, int64_t deadline_ns) noexcept nogil:
        cdef int64_t pace = NS_PER_SECOND + self._drift_ppb
        cdef int64_t left_ns, found_ns
        if deadline_ns <= self._monotonic_ns:
            return self._true_ns
        left_ns = deadline_ns - self._monotonic_ns
        if deadline_ns == INT64_MAX or left_ns > INT64_MAX // 4:
            return INT64_MAX
        # The quotient is off by a nanosecond or two, as the clock's own rounding has it.
        found_ns = self._true_ns + (left_ns // pace) * NS_PER_SECOND + (left_ns % pace) * NS_PER_SECOND // pace
        while self.monotonic_at(found_ns) >= deadline_ns and found_ns > self._true_ns:
            found_ns -= 1
        while self.monotonic_at(found_ns) < deadline_ns:
            found_ns += 1
        return found_ns

    cdef int64_t _read(self, int64_t value) noexcept nogil:
        self.reads += 1
        self._digest = digest_number(self._digest, <uint64_t>value)
        return value

    cdef void _begin(self, int64_t monotonic_ns) noexcept nogil:
        self._true_ns = self._world.nano_time()
        self._monotonic_ns = monotonic_ns


cdef int64_t floor_of(int64_t product) noexcept nogil:
    # in billionths, rounded down: C's division rounds towards zero
    cdef int64_t quotient = product // NS_PER_SECOND
    return quotient - 1 if product < 0 and quotient * NS_PER_SECOND != product else quotient
