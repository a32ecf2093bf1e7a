"""Dispatch of the messages of an egress stream by their header, without a detour for those of services. Aeron: EgressAdapter."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from aerowire.client.subscriptions.header cimport Header
from aerowire.codecs.native.cluster cimport (
    SBE_HEADER_LENGTH, SBE_SCHEMA_ID, SESSION_MESSAGE_HEADER_BLOCK_LENGTH, SESSION_MESSAGE_HEADER_TEMPLATE_ID, header_block_length,
    header_schema_id, header_template_id, header_version, session_message_header_cluster_session_id, session_message_header_timestamp)

from aerowire.client.subscriptions.actions import Action
from aerowire.cluster.client.egress_events import decode_event

cdef object COMMIT = Action.COMMIT
cdef object CONTINUE = Action.CONTINUE


@cython.final
cdef class EgressAdapter:
    """The delegate of a fragment assembler that reads the egress of one session.

    `on_message(cluster_session_id, timestamp, buffer, offset, length, header)` gets messages of services, `on_event(event, header)` every
    other message of the session, `on_extension(schema_id, template_id, version, block_length, payload)` messages of other schemas. Messages
    of other sessions are skipped: clients may share a channel. `dropped` counts damaged ones, unknown ones, and those of other schemas
    without an `on_extension`. Belongs to one thread.
    """

    cdef readonly int64_t dropped
    cdef int64_t _session_id
    cdef object _session_object
    cdef object _on_message
    cdef object _on_event
    cdef object _on_extension

    def __init__(self, int64_t cluster_session_id, on_message, on_event, on_extension=None):
        self._session_id = cluster_session_id
        self._session_object = cluster_session_id
        self._on_message = on_message
        self._on_event = on_event
        self._on_extension = on_extension

    @cython.binding(False)      # called as a plain C function for each message
    def on_fragment(self, buffer, offset, length, Header header not None):
        """Hand a whole message on, for a FragmentAssembler."""
        cdef int32_t begin
        header.require_frame()
        begin = self.service_message(header)
        if begin > 0:
            self._on_message(
                self._session_object, session_message_header_timestamp(header.payload_address + SBE_HEADER_LENGTH), buffer,
                offset + begin, header.length - begin, header)
        elif begin == 0:
            self.other_message(header)

    @cython.binding(False)
    def on_controlled_fragment(self, buffer, offset, length, Header header not None):
        """Hand a whole message on, for a ControlledFragmentAssembler; return the Action of `on_message`, COMMIT behind an event."""
        cdef int32_t begin
        header.require_frame()
        begin = self.service_message(header)
        if begin > 0:
            return self._on_message(
                self._session_object, session_message_header_timestamp(header.payload_address + SBE_HEADER_LENGTH), buffer,
                offset + begin, header.length - begin, header)
        if begin == 0 and self.other_message(header):
            return COMMIT
        return CONTINUE

    cdef int32_t service_message(self, Header header) noexcept:
        # where the payload of a service's message begins; -1 for one of another session, 0 for every other message
        cdef const uint8_t* message = header.payload_address
        cdef uint16_t block_length
        if (header.length < SBE_HEADER_LENGTH + SESSION_MESSAGE_HEADER_BLOCK_LENGTH
                or header_template_id(message) != SESSION_MESSAGE_HEADER_TEMPLATE_ID or header_schema_id(message) != SBE_SCHEMA_ID):
            return 0
        block_length = header_block_length(message)
        if block_length < SESSION_MESSAGE_HEADER_BLOCK_LENGTH or block_length > header.length - SBE_HEADER_LENGTH:
            return 0
        if session_message_header_cluster_session_id(message + SBE_HEADER_LENGTH) != self._session_id:
            return -1
        return SBE_HEADER_LENGTH + block_length

    cdef bint other_message(self, Header header) except -1:
        # whether it was an event of the session
        cdef const uint8_t* message = header.payload_address
        cdef object event
        if header.length < SBE_HEADER_LENGTH:
            self.dropped += 1
            return False
        if header_schema_id(message) != SBE_SCHEMA_ID:
            if self._on_extension is None:
                self.dropped += 1
            else:
                self._on_extension(
                    header_schema_id(message), header_template_id(message), header_version(message), header_block_length(message),
                    message[SBE_HEADER_LENGTH:header.length])
            return False
        event = decode_event(header_template_id(message), message[:header.length])
        if event is None:
            self.dropped += 1
            return False
        if event.cluster_session_id != self._session_id:
            return False
        self._on_event(event, header)
        return True
