# The header of session messages, as a service sends them.

cimport cython
from libc.stdint cimport int64_t


@cython.final
cdef class SessionHeader:
    """SessionHeader(). The agent's thread."""

    cdef public int64_t leadership_term_id
