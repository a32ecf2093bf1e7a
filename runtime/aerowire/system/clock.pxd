# The operating system's clocks as a ClockPort.

cimport cython
from aerowire.base.ports cimport ClockPort


@cython.final
cdef class SystemClock(ClockPort):
    pass


@cython.final
cdef class ManualClock(ClockPort):
    """A clock that moves only when told: tests and invokers with literal times."""

    cdef long long _now_ns
    cdef long long _epoch_ns
