# A log that an agent consumes: the live log of a leader, a catch-up, or a replay.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.archive.agents.position_bound cimport PositionBound
from aerowire.cluster.agents.message_image cimport MessageImage

cdef enum:
    SERVICE_IDS = 128           # that a session id of a service's message has room for


@cython.final
cdef class FollowedLog:
    """FollowedLog(image, append_position=None). The agent's from its command until its final event."""

    cdef readonly MessageImage image
    cdef readonly PositionBound append_position     # or None: all of the image is recorded
    cdef int64_t limit                              # what the conductor allows to be consumed
    cdef bint is_reached_posted
    # Written by the agent, read by any thread.
    cdef int64_t _position
    cdef int64_t _handed_position                   # stored BEFORE the position that includes it
    cdef int64_t _cluster_time
    cdef int64_t _service_session_ids[SERVICE_IDS]

    cdef void on_session_message(self, int64_t cluster_session_id, int64_t timestamp) noexcept nogil
    cdef void on_handed_over(self, int64_t end_position) noexcept nogil
    cdef void on_consumed(self) noexcept nogil
