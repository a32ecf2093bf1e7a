"""What an agent does between duty cycles that found no work, under the names that Aeron gives the strategies.

Aeron: Configuration.agentIdleStrategy, aeron_agent.c.  An instance belongs to one thread; `fresh()` makes another.
"""

from libc.stdint cimport INT64_MAX, int64_t
from posix.time cimport nanosleep, timespec

from aerowire.base.errors import ConfigurationError
from aerowire.base.atomics cimport cpu_relax, load_relaxed_i64
from aerowire.base.whole_numbers cimport int64_of

cdef extern from "<sched.h>" nogil:
    int sched_yield()

NANOS_PER_MS = 1000000
SLEEP_NS_DEFAULT = 1000
SLEEP_MS_DEFAULT = 1
cdef enum:
    PARK_NS = 1000

BACKOFF_DEFAULTS = (10, 20, 1000, 1000000)      # spins, yields, shortest and longest park in ns


cdef inline void sleep_ns(int64_t duration_ns) noexcept nogil:
    cdef timespec duration
    duration.tv_sec = duration_ns // 1000000000
    duration.tv_nsec = duration_ns % 1000000000
    nanosleep(&duration, NULL)


cdef class IdleStrategy:
    """`strategy(work_count)` idles when work_count is 0 and starts over when it is positive."""

    cdef void idle(self, int work_count) noexcept nogil:
        cdef int64_t rest_ns = self.step(work_count)
        if rest_ns > 0:
            sleep_ns(rest_ns)

    cdef void doze(self) noexcept nogil:
        self.idle(0)

    cdef int64_t step(self, int work_count) noexcept nogil:
        return 0

    cdef void reset(self) noexcept nogil:
        pass

    cdef IdleStrategy fresh(self):
        return type(self)(*self.arguments)

    def __call__(self, int work_count):
        with nogil:
            self.idle(work_count)

    def start_over(self):
        """Forget how long there has been nothing to do."""
        self.reset()

    def copy(self):
        """Another strategy with the same parameters, for another thread."""
        return self.fresh()

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(map(str, self.arguments))})"


cdef class NoOpIdleStrategy(IdleStrategy):
    """Return at once."""

    def __init__(self):
        self.alias = "noop"
        self.arguments = ()


cdef class BusySpinIdleStrategy(IdleStrategy):
    """Tell the processor that this is a spin loop, and return."""

    def __init__(self):
        self.alias = "spin"
        self.arguments = ()

    cdef int64_t step(self, int work_count) noexcept nogil:
        if work_count <= 0:
            cpu_relax()
        return 0


cdef class YieldingIdleStrategy(IdleStrategy):
    """Offer the processor to other threads."""

    def __init__(self):
        self.alias = "yield"
        self.arguments = ()

    cdef int64_t step(self, int work_count) noexcept nogil:
        if work_count <= 0:
            sched_yield()
        return 0


cdef class SleepingIdleStrategy(IdleStrategy):
    """Sleep for a fixed number of nanoseconds."""

    cdef int64_t _period_ns

    def __init__(self, period_ns=SLEEP_NS_DEFAULT):
        self.alias = "sleep-ns"
        self._period_ns = _positive("sleep period", period_ns)
        self.arguments = (self._period_ns,)

    cdef int64_t step(self, int work_count) noexcept nogil:
        return self._period_ns if work_count <= 0 else 0


cdef class SleepingMillisIdleStrategy(IdleStrategy):
    """Sleep for a fixed number of milliseconds."""

    cdef int64_t _period_ns

    def __init__(self, period_ms=SLEEP_MS_DEFAULT):
        self.alias = "sleep-ms"
        self._period_ns = _positive("sleep period", period_ms, INT64_MAX // NANOS_PER_MS) * NANOS_PER_MS
        self.arguments = (self._period_ns // NANOS_PER_MS,)

    cdef int64_t step(self, int work_count) noexcept nogil:
        return self._period_ns if work_count <= 0 else 0


cdef class BackoffIdleStrategy(IdleStrategy):
    """Spin, then yield, then park for a time that doubles up to a limit.  Invariant: park_min <= _park_ns <= park_max."""

    cdef int64_t _spins_max
    cdef int64_t _yields_max
    cdef int64_t _park_min_ns
    cdef int64_t _park_max_ns
    cdef int64_t _spins
    cdef int64_t _yields
    cdef int64_t _park_ns

    def __init__(self, spins_max=BACKOFF_DEFAULTS[0], yields_max=BACKOFF_DEFAULTS[1],
                 park_min_ns=BACKOFF_DEFAULTS[2], park_max_ns=BACKOFF_DEFAULTS[3]):
        self.alias = "backoff"
        self._spins_max = _not_negative("spins", spins_max)
        self._yields_max = _not_negative("yields", yields_max)
        self._park_min_ns = _positive("shortest park", park_min_ns)
        self._park_max_ns = _positive("longest park", park_max_ns)
        if self._park_max_ns < self._park_min_ns:
            raise ConfigurationError("longest park is below the shortest", expected=f">= {self._park_min_ns} ns", actual=self._park_max_ns)
        self.arguments = (self._spins_max, self._yields_max, self._park_min_ns, self._park_max_ns)
        self.reset()

    cdef void reset(self) noexcept nogil:
        self._spins = 0
        self._yields = 0
        self._park_ns = self._park_min_ns

    cdef int64_t step(self, int work_count) noexcept nogil:
        cdef int64_t rest_ns = 0
        if work_count > 0:
            self.reset()
        elif self._spins < self._spins_max:
            self._spins += 1
            cpu_relax()
        elif self._yields < self._yields_max:
            self._yields += 1
            sched_yield()
        else:
            rest_ns = self._park_ns
            self._park_ns = min(self._park_ns << 1, self._park_max_ns)
        return rest_ns


# What a controllable strategy can be told. Aeron (Agrona): ControllableIdleStrategy.
CONTROLLABLE_NOOP = 1
CONTROLLABLE_BUSY_SPIN = 2
CONTROLLABLE_YIELD = 3
CONTROLLABLE_PARK = 4

cdef int64_t _NOOP = CONTROLLABLE_NOOP
cdef int64_t _BUSY_SPIN = CONTROLLABLE_BUSY_SPIN
cdef int64_t _YIELD = CONTROLLABLE_YIELD


cdef class ControllableIdleStrategy(IdleStrategy):
    """Do what a number in memory says, from one cycle to the next: nothing, spin, yield, or park for a microsecond.

    It parks while it is told nothing, or something that it does not know.
    """

    cdef unsigned char[::1] _view
    cdef const int64_t* _status

    def __init__(self, status=None):
        """`status` is a buffer of eight octets, aligned to eight; it is kept."""
        self.alias = "controllable"
        self.arguments = ()
        if status is not None:
            self.obey(status)

    def obey(self, unsigned char[::1] status not None):
        """Follow the number in `status` from now on. Not while another thread idles."""
        if status.shape[0] != sizeof(int64_t) or <size_t>&status[0] % sizeof(int64_t) != 0:
            raise ValueError(f"status of an idle strategy: expected 8 octets aligned to 8, actual {status.shape[0]} at {<size_t>&status[0]}")
        self._view = status
        self._status = <const int64_t*>&status[0]

    cdef IdleStrategy fresh(self):
        cdef ControllableIdleStrategy other = ControllableIdleStrategy()
        if self._status != NULL:
            other._view = self._view
            other._status = self._status
        return other

    cdef int64_t step(self, int work_count) noexcept nogil:
        cdef int64_t status
        if work_count > 0:
            return 0
        status = 0 if self._status == NULL else load_relaxed_i64(self._status)
        if status == _NOOP:
            return 0
        if status == _BUSY_SPIN:
            cpu_relax()
        elif status == _YIELD:
            sched_yield()
        else:
            return PARK_NS
        return 0


cdef int64_t _positive(str what, object value, int64_t most=INT64_MAX) except -1:
    cdef int64_t found = int64_of(f"{what} of an idle strategy", value)
    if found <= 0:
        raise ConfigurationError(f"{what} of an idle strategy out of range", expected="> 0", actual=found)
    if found > most:
        raise ConfigurationError(f"{what} of an idle strategy out of range", expected=f"<= {most}", actual=found)
    return found


cdef int64_t _not_negative(str what, object value) except -1:
    cdef int64_t found = int64_of(f"{what} of an idle strategy", value)
    if found < 0:
        raise ConfigurationError(f"{what} of an idle strategy out of range", expected=">= 0", actual=found)
    return found


# Every name under which Aeron's Java and C drivers know a strategy, and ours.
_NAMES = {
    NoOpIdleStrategy: ("noop", "NoOpIdleStrategy", "aeron_idle_strategy_noop"),
    BusySpinIdleStrategy: ("spin", "busy-spin", "BusySpinIdleStrategy", "aeron_idle_strategy_busy_spinning"),
    YieldingIdleStrategy: ("yield", "yielding", "YieldingIdleStrategy", "aeron_idle_strategy_yielding"),
    SleepingIdleStrategy: ("sleep-ns", "sleeping", "SleepingIdleStrategy", "aeron_idle_strategy_sleeping"),
    SleepingMillisIdleStrategy: ("sleep-ms", "sleeping-ms", "SleepingMillisIdleStrategy"),
    BackoffIdleStrategy: ("backoff", "BackoffIdleStrategy", "aeron_idle_strategy_backoff"),
    ControllableIdleStrategy: ("controllable", "ControllableIdleStrategy"),
}
_STRATEGIES = {name: strategy for strategy, names in _NAMES.items() for name in names}
_ARGUMENT_LIMITS = {SleepingIdleStrategy: 1, SleepingMillisIdleStrategy: 1, BackoffIdleStrategy: len(BACKOFF_DEFAULTS)}
IDLE_STRATEGY_NAMES = tuple(names[0] for names in _NAMES.values())


def idle_strategy(str name, *arguments, where=None) -> IdleStrategy:
    """Make the strategy called `name`: an alias of Aeron's, its class name (with package or without), its C name, or ours.

    `arguments` are the strategy's own: a period in ns (sleep-ns) or ms (sleep-ms); spins, yields, shortest and longest park
    in ns (backoff).  ConfigurationError, with `where` the name came from, when the
    name is not known, or an argument is out of range or too many.
    """
    strategy = _STRATEGIES.get(name.rpartition(".")[2])
    if strategy is None:
        from difflib import get_close_matches  # slow to load, and only a mistake needs it

        close = get_close_matches(name, list(_STRATEGIES), n=1)
        raise ConfigurationError("unknown idle strategy", where=where, expected=f"one of {', '.join(IDLE_STRATEGY_NAMES)}", actual=repr(name),
                                 hint=f"did you mean '{close[0]}'?" if close else "backoff spares the processor, noop and spin take all of one")
    limit = _ARGUMENT_LIMITS.get(strategy, 0)
    if len(arguments) > limit:
        raise ConfigurationError("an idle strategy has no such arguments", where=where, expected=f"at most {limit} of {name}",
                                 actual=" ".join(map(str, arguments)))
    try:
        return strategy(*arguments)
    except ConfigurationError as error:
        raise ConfigurationError(error.what, where=where, expected=error.expected, actual=error.actual) from None
