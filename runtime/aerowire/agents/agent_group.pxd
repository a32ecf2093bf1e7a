# Native agents that share a thread, and come and go while it runs.

cimport cython
from libc.stdint cimport int64_t

from aerowire.base.runner cimport AgentInvoker, NativeAgent

cdef enum:
    GUESTS_MAX = 16


@cython.final
cdef class AgentGroup(NativeAgent):
    """Runs the duty cycles of its guests, one after the other. Owner: the thread that runs it."""

    cdef void* _guests[GUESTS_MAX]      # borrowed pointers to invokers, NULL where there is none; written by who adds and removes
    cdef list _kept                     # the invokers, by their places
    cdef int64_t _cycles                # written by the owner
