# Answers to requests for the position of a recording, which the sleeping conductor gives without Python.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum:
    # Of sessions, and of recordings: a table that is searched from its start. Those for which there is no room wait for the conductor.
    ANSWERED_MAX = 64
    RESPONSE_LENGTH_MAX = 64


cdef struct AnsweredSession:
    int64_t session_id
    void* image             # by which its requests come
    void* publication       # of its responses


@cython.final
cdef class PositionAnswers:
    """PositionAnswers(protocol_version). The conductor's thread."""

    cdef AnsweredSession _sessions[ANSWERED_MAX]
    cdef int _session_count
    cdef void* _recordings[ANSWERED_MAX]
    cdef int _recording_count
    cdef uint8_t _response[RESPONSE_LENGTH_MAX]
    cdef dict _session_holds        # the objects that the tables point to, by id
    cdef dict _recording_holds

    # Answer the message of a committed frame that came by an image; false where it is for the conductor.
    cdef bint answer(self, void* image, const uint8_t* frame, int32_t frame_length) noexcept nogil

    cdef int _fill_tables(self) except -1
