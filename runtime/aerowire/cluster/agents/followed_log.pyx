"""A log that an agent consumes: the live log of a leader, a catch-up, or a replay."""

from libc.stdint cimport INT64_MAX, int64_t

from aerowire.memory.atomics cimport load_acquire_i64, store_release_i64


cdef class FollowedLog:
    """The image of a log, and what was seen in it. `append_position` bounds it to what this member's archive has recorded.

    Changed by: the agent, once it was added. Invariants: positions only move forward; a LogMessage is posted BEFORE its end is
    the handed position, which is stored BEFORE the position reaches it.
    """

    def __cinit__(self, MessageImage image not None, PositionBound append_position=None):
        self.image = image
        self.append_position = append_position
        self._position = self._handed_position = image.position()

    cdef void on_session_message(self, int64_t cluster_session_id, int64_t timestamp) noexcept nogil:
        store_release_i64(&self._cluster_time, timestamp)
        if cluster_session_id < 0:                  # a service's: its id is in the bits below the sign
            store_release_i64(&self._service_session_ids[(cluster_session_id >> 56) & (SERVICE_IDS - 1)], cluster_session_id)

    cdef void on_handed_over(self, int64_t end_position) noexcept nogil:
        store_release_i64(&self._handed_position, end_position)

    cdef void on_consumed(self) noexcept nogil:
        store_release_i64(&self._position, self.image.position())

    # -- Python faces ----------------------------------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """Up to which the log was consumed; any thread."""
        return load_acquire_i64(&self._position)

    @property
    def handed_position(self) -> int:
        """The position behind the last LogMessage; any thread.

        Read it AFTER `position`: a conductor that has taken the LogMessage that ends here has taken all up to that position.
        """
        return load_acquire_i64(&self._handed_position)

    @property
    def is_stream_ended(self) -> bool:
        """Whether its leader has closed the log, consumed to its end or not; any thread.

        The archive may stop to record such a log before the image goes: RECORDING_STOPPED is no failure then.
        """
        return self.image.loan.end_of_stream_position() < INT64_MAX

    @property
    def cluster_time(self) -> int:
        """The timestamp of the last session message, in the cluster's unit; 0 before the first. Any thread."""
        return load_acquire_i64(&self._cluster_time)

    def service_session_id(self, int service_id) -> int:
        """Return the session id of the last message of a service, by which its pending messages are swept; 0 before the first. Any thread.

        Aeron: PendingServiceMessageTracker.sweepFollowerMessages.
        """
        if not 0 <= service_id < SERVICE_IDS:
            raise IndexError(f"service id: expected 0 to {SERVICE_IDS - 1}, actual {service_id}")
        return load_acquire_i64(&self._service_session_ids[service_id])
