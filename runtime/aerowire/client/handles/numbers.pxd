# The int objects of a hot loop: a number that the caller has dropped gets the next value, where it would be freed and made anew.
#
# Offsets and positions are ints that live for one turn of a loop, and to free and make one takes a fifth of the time of a fragment. An int whose
# only reference is ours is seen by nobody, so giving it another value is what the allocator would do with its memory a moment later. Two are
# kept in turn, because in `result = offer(message)` the caller still holds the last one while the next is made.

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

cdef extern from *:
    """
    #ifndef AEROWIRE_NUMBERS
    #define AEROWIRE_NUMBERS
    #include <stdint.h>
    typedef struct { PyObject *kept[2]; int turn; } aw_numbers;

    /* Whether `number` could take `value` in place: one or two positive digits, as many as it has now, and no int that the interpreter shares. */
    static inline int aw_renumber(PyObject *number, int64_t value)
    {
    #if defined(Py_GIL_DISABLED) || PYLONG_BITS_IN_DIGIT != 30
        return 0;
    #else
        int64_t digits = value >> PyLong_SHIFT ? 2 : 1;
        if (value < 1 << 16 || value >> 2 * PyLong_SHIFT || Py_REFCNT(number) != 1) return 0;
    #if PY_VERSION_HEX < 0x030C0000
        if (Py_SIZE(number) != digits) return 0;
        digit *to = ((PyLongObject *)number)->ob_digit;
    #else
        if (((PyLongObject *)number)->long_value.lv_tag != (uintptr_t)digits << 3) return 0;
        digit *to = ((PyLongObject *)number)->long_value.ob_digit;
    #endif
        to[0] = (digit)(value & PyLong_MASK);
        if (digits == 2) to[1] = (digit)(value >> PyLong_SHIFT);
        return 1;
    #endif
    }

    static inline PyObject *aw_number(aw_numbers *numbers, int64_t value)
    {
        PyObject **slot = &numbers->kept[numbers->turn ^= 1];
        PyObject *number = *slot, *old = number;
        if (number && aw_renumber(number, value)) { Py_INCREF(number); return number; }
        number = PyLong_FromLongLong(value);
        if (number) { Py_INCREF(number); *slot = number; Py_XDECREF(old); }
        return number;
    }

    static inline void aw_numbers_clear(aw_numbers *numbers)
    {
        Py_CLEAR(numbers->kept[0]);
        Py_CLEAR(numbers->kept[1]);
    }
    #endif
    """
    ctypedef struct Numbers "aw_numbers":
        pass
    # A new reference to an int of that value; NULL with MemoryError set.
    PyObject* number_of "aw_number"(Numbers* numbers, int64_t value) noexcept
    void numbers_clear "aw_numbers_clear"(Numbers* numbers) noexcept
