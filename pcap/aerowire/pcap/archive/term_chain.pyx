"""The walk along the frames of a recorded term: the one step of reading a recording that cannot be done on whole arrays.

It knows frame headers only.  `term_chain_fallback` is the same in Python.
"""

import numpy as np

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t

from aerowire.codecs.native.transport cimport (
    DATA_HEADER_LENGTH,
    FRAME_ALIGNMENT,
    FRAME_TYPE_PAD,
    frame_header_frame_length,
    frame_header_type,
)


cdef enum:
    MORE = 0
    EMPTY = 1
    IMPLAUSIBLE = 2


cdef int64_t follow(const uint8_t* data, int64_t* position, int64_t end, int64_t term_end, int64_t length_max,
                    int64_t* found, int* reason) noexcept nogil:
    cdef int64_t count = 0
    cdef int64_t at = position[0]
    cdef int64_t length, following
    cdef bint padding
    reason[0] = MORE
    while at + DATA_HEADER_LENGTH <= end and at < term_end:
        length = frame_header_frame_length(data + at)
        if length == 0:
            reason[0] = EMPTY
            break
        padding = frame_header_type(data + at) == FRAME_TYPE_PAD
        following = at + ((length + FRAME_ALIGNMENT - 1) & -<int64_t>FRAME_ALIGNMENT)
        if length < DATA_HEADER_LENGTH or following > term_end or (length > length_max and not padding):
            reason[0] = IMPLAUSIBLE
            break
        if following > end and not padding:
            break
        found[count] = at
        count += 1
        at = following
    position[0] = at
    return count


def walk_frames(buffer, int64_t start, int64_t end, int64_t term_end, int64_t length_max):
    """Follow frames from `start` to the end of their term; return (offsets of frames, where the walk stopped, why: MORE, EMPTY, IMPLAUSIBLE).

    A frame is found when all of it lies before `end`, or the header of a padding frame.  term_end may lie behind `end`.
    """
    cdef int reason = MORE
    cdef int64_t position = start, count = 0
    cdef Py_buffer source, offsets
    found = np.empty(max(0, end - start) // FRAME_ALIGNMENT + 1, dtype=np.int64)
    PyObject_GetBuffer(buffer, &source, PyBUF_SIMPLE)
    try:
        if end > source.len or start < 0:
            raise ValueError(f"walk of [{start}, {end}) leaves a buffer of {source.len} bytes")
        PyObject_GetBuffer(found, &offsets, PyBUF_WRITABLE)
        with nogil:
            count = follow(<const uint8_t*>source.buf, &position, end, term_end, length_max, <int64_t*>offsets.buf, &reason)
        PyBuffer_Release(&offsets)
    finally:
        PyBuffer_Release(&source)
    return found[:count].copy(), position, reason
