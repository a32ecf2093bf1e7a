# Whole numbers of Python callers as C integers.
#
# A C type in a signature cuts floats (1.5 becomes 1) and raises a bare OverflowError. These functions take what Python takes for an index,
# but no bool, and raise WrongTypeError or ConfigurationError with the name of the argument.

from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int32_t, int64_t


cdef inline int64_t int64_of(str what, object value) except? -1:
    cdef int overflow = 0
    cdef int64_t found
    if PyLong_CheckExact(value):
        found = PyLong_AsLongLongAndOverflow(value, &overflow)
        if not overflow:
            return found
    from aerowire.base.arguments import whole_number
    return whole_number(what, value, INT64_MIN, INT64_MAX)


cdef inline int32_t int32_of(str what, object value) except? -1:
    cdef int overflow = 0
    cdef int64_t found
    if PyLong_CheckExact(value):
        found = PyLong_AsLongLongAndOverflow(value, &overflow)
        if not overflow and INT32_MIN <= found <= INT32_MAX:
            return <int32_t>found
    from aerowire.base.arguments import whole_number
    return whole_number(what, value, INT32_MIN, INT32_MAX)
