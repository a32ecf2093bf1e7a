"""A message that the conductor has encoded, for the agent to append to the log or to send to a member.

Position and timestamp of an event in the log are the agent's to fill in, as the event is appended: so times do not go back in the log.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from aerowire.codecs.native.cluster cimport (
    CLUSTER_ACTION_REQUEST_BLOCK_LENGTH, CLUSTER_ACTION_REQUEST_TEMPLATE_ID, NEW_LEADERSHIP_TERM_EVENT_BLOCK_LENGTH,
    NEW_LEADERSHIP_TERM_EVENT_TEMPLATE_ID, SBE_HEADER_LENGTH, SBE_SCHEMA_ID, SESSION_CLOSE_EVENT_BLOCK_LENGTH,
    SESSION_CLOSE_EVENT_TEMPLATE_ID, SESSION_MESSAGE_HEADER_BLOCK_LENGTH, SESSION_MESSAGE_HEADER_TEMPLATE_ID,
    SESSION_OPEN_EVENT_BLOCK_LENGTH, SESSION_OPEN_EVENT_TEMPLATE_ID, TIMER_EVENT_BLOCK_LENGTH, TIMER_EVENT_TEMPLATE_ID,
    cluster_action_request_set_log_position, cluster_action_request_set_timestamp, header_schema_id, header_template_id,
    new_leadership_term_event_set_log_position, new_leadership_term_event_set_timestamp, session_close_event_set_timestamp,
    session_message_header_set_timestamp, session_open_event_set_timestamp, timer_event_set_timestamp)
from aerowire.codecs.native.transport cimport MAX_MESSAGE_LENGTH
from aerowire.memory.region cimport BufferView, borrow


cdef class OutboundMessage:
    """A copy of an encoded message. Raises ValueError for one that is shorter than its template says."""

    def __cinit__(self, message, OpenSession session=None):
        cdef BufferView view
        self._session = session
        holder = borrow(message, &view, False)
        if not SBE_HEADER_LENGTH <= view.length <= MAX_MESSAGE_LENGTH:
            raise ValueError(f"encoded message: expected {SBE_HEADER_LENGTH} to {MAX_MESSAGE_LENGTH} bytes, actual {view.length}")
        if header_schema_id(view.address) == SBE_SCHEMA_ID:
            self._template_id = header_template_id(view.address)
        if view.length < SBE_HEADER_LENGTH + _stamped_block_length(self._template_id):
            raise ValueError(f"encoded message of template {self._template_id}: expected at least "
                             f"{SBE_HEADER_LENGTH + _stamped_block_length(self._template_id)} bytes, actual {view.length}")
        self.address = <uint8_t*>malloc(view.length)
        if self.address is NULL:
            raise MemoryError("encoded message")
        memcpy(self.address, view.address, view.length)
        self.length = <int32_t>view.length

    def __dealloc__(self):
        free(self.address)

    cdef void stamp(self, int64_t log_position, int64_t timestamp) noexcept nogil:
        cdef uint8_t* block = self.address + SBE_HEADER_LENGTH
        if self._template_id == SESSION_MESSAGE_HEADER_TEMPLATE_ID:
            session_message_header_set_timestamp(block, timestamp)
        elif self._template_id == TIMER_EVENT_TEMPLATE_ID:
            timer_event_set_timestamp(block, timestamp)
        elif self._template_id == SESSION_OPEN_EVENT_TEMPLATE_ID:
            session_open_event_set_timestamp(block, timestamp)
        elif self._template_id == SESSION_CLOSE_EVENT_TEMPLATE_ID:
            session_close_event_set_timestamp(block, timestamp)
        elif self._template_id == CLUSTER_ACTION_REQUEST_TEMPLATE_ID:
            cluster_action_request_set_timestamp(block, timestamp)
            cluster_action_request_set_log_position(block, log_position)
        elif self._template_id == NEW_LEADERSHIP_TERM_EVENT_TEMPLATE_ID:
            new_leadership_term_event_set_timestamp(block, timestamp)
            new_leadership_term_event_set_log_position(block, log_position)

    cdef void open_session(self) noexcept nogil:
        if <PyObject*>self._session is not <PyObject*>None:
            self._session.is_open = True

    def __bytes__(self) -> bytes:
        """Return the message, as stamped if it was appended; while the agent does not have it."""
        return (<const char*>self.address)[:self.length]


cdef int32_t _stamped_block_length(int32_t template_id) noexcept nogil:
    # the block of a template that is stamped, else 0
    if template_id == SESSION_MESSAGE_HEADER_TEMPLATE_ID:
        return SESSION_MESSAGE_HEADER_BLOCK_LENGTH
    if template_id == TIMER_EVENT_TEMPLATE_ID:
        return TIMER_EVENT_BLOCK_LENGTH
    if template_id == SESSION_OPEN_EVENT_TEMPLATE_ID:
        return SESSION_OPEN_EVENT_BLOCK_LENGTH
    if template_id == SESSION_CLOSE_EVENT_TEMPLATE_ID:
        return SESSION_CLOSE_EVENT_BLOCK_LENGTH
    if template_id == CLUSTER_ACTION_REQUEST_TEMPLATE_ID:
        return CLUSTER_ACTION_REQUEST_BLOCK_LENGTH
    return NEW_LEADERSHIP_TERM_EVENT_BLOCK_LENGTH if template_id == NEW_LEADERSHIP_TERM_EVENT_TEMPLATE_ID else 0
