"""Answers to requests for the position of a recording that is being written: the one request that clients repeat at every turn.

The position is in the native session of the recording, and a response has a fixed length: the conductor's sleeper, which sees a request
first, answers it without the interpreter lock. Whatever is not as it should be is left to the conductor. Aeron: ArchiveConductor.getRecordingPosition.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from aerowire.archive.agents.recording_session cimport RecordingSession
from aerowire.client.handles.state cimport STATE_OPEN
from aerowire.client.publications.publication cimport ExclusivePublication
from aerowire.client.subscriptions.image cimport Image
from aerowire.codecs.native.archive cimport (
    CONTROL_RESPONSE_BLOCK_LENGTH, CONTROL_RESPONSE_CODE_OK, CONTROL_RESPONSE_TEMPLATE_ID, RECORDING_POSITION_REQUEST_BLOCK_LENGTH,
    RECORDING_POSITION_REQUEST_TEMPLATE_ID, SBE_HEADER_LENGTH, SBE_SCHEMA_ID, SBE_SCHEMA_VERSION, control_response_set_code,
    control_response_set_control_session_id, control_response_set_correlation_id, control_response_set_relevant_id,
    control_response_set_version, header_block_length, header_schema_id, header_set_block_length, header_set_schema_id,
    header_set_template_id, header_set_version, header_template_id, recording_position_request_control_session_id,
    recording_position_request_correlation_id, recording_position_request_recording_id)
from aerowire.codecs.native.transport cimport (
    DATA_FLAGS_UNFRAGMENTED, DATA_HEADER_LENGTH, FRAME_TYPE_DATA, data_header_flags, data_header_type)
from aerowire.memory.atomics cimport load_acquire_i32

cdef enum:
    TEXT_LENGTH = 4         # of the error message, which is empty
    RESPONSE_LENGTH = SBE_HEADER_LENGTH + CONTROL_RESPONSE_BLOCK_LENGTH + TEXT_LENGTH
    REQUEST_LENGTH = DATA_HEADER_LENGTH + SBE_HEADER_LENGTH + RECORDING_POSITION_REQUEST_BLOCK_LENGTH


cdef class PositionAnswers:
    """Sessions that may ask, and recordings that are being written.

    Changed by: the conductor.  Invariant: what the tables point to is held; a session is in its table only while it is active, may ask, and
    has no response waiting, so that an answer from here keeps the order.
    """

    def __init__(self, int32_t protocol_version):
        self._session_holds = {}
        self._recording_holds = {}
        memset(self._response, 0, RESPONSE_LENGTH)
        header_set_block_length(self._response, CONTROL_RESPONSE_BLOCK_LENGTH)
        header_set_template_id(self._response, CONTROL_RESPONSE_TEMPLATE_ID)
        header_set_schema_id(self._response, SBE_SCHEMA_ID)
        header_set_version(self._response, SBE_SCHEMA_VERSION)
        control_response_set_code(self._response + SBE_HEADER_LENGTH, CONTROL_RESPONSE_CODE_OK)
        control_response_set_version(self._response + SBE_HEADER_LENGTH, protocol_version)

    def admit(self, int64_t session_id, Image image not None, ExclusivePublication publication not None):
        """Answer a session's requests from now on."""
        self._session_holds[session_id] = (image, publication)
        self._fill_tables()

    def dismiss(self, int64_t session_id):
        """Leave a session's requests to the conductor. Harmless where that is so."""
        if self._session_holds.pop(session_id, None) is not None:
            self._fill_tables()

    def add_recording(self, RecordingSession recording not None):
        """Answer for a recording from now on."""
        self._recording_holds[recording.recording_id] = recording
        self._fill_tables()

    def remove_recording(self, int64_t recording_id):
        """Leave a recording to the conductor, which knows that it has ended. Harmless where that is so."""
        if self._recording_holds.pop(recording_id, None) is not None:
            self._fill_tables()

    cdef int _fill_tables(self) except -1:
        cdef int count = 0
        for session_id, (image, publication) in list(self._session_holds.items())[:ANSWERED_MAX]:
            self._sessions[count].session_id = session_id
            self._sessions[count].image = <void*>image
            self._sessions[count].publication = <void*>publication
            count += 1
        self._session_count = count
        count = 0
        for recording in list(self._recording_holds.values())[:ANSWERED_MAX]:
            self._recordings[count] = <void*>recording
            count += 1
        self._recording_count = count
        return 0

    cdef bint answer(self, void* image, const uint8_t* frame, int32_t frame_length) noexcept nogil:
        cdef const uint8_t* request = frame + DATA_HEADER_LENGTH + SBE_HEADER_LENGTH
        cdef uint8_t* response = self._response + SBE_HEADER_LENGTH
        cdef const uint8_t* message = frame + DATA_HEADER_LENGTH
        cdef int session = 0
        cdef int recording = 0
        if (frame_length < REQUEST_LENGTH or data_header_type(frame) != FRAME_TYPE_DATA
                or data_header_flags(frame) & DATA_FLAGS_UNFRAGMENTED != DATA_FLAGS_UNFRAGMENTED
                or header_template_id(message) != RECORDING_POSITION_REQUEST_TEMPLATE_ID
                or header_schema_id(message) != SBE_SCHEMA_ID
                or header_block_length(message) != RECORDING_POSITION_REQUEST_BLOCK_LENGTH):
            return False
        while session < self._session_count and not (
                self._sessions[session].session_id == recording_position_request_control_session_id(request)
                and self._sessions[session].image == image):
            session += 1
        while recording < self._recording_count and (
                (<RecordingSession>self._recordings[recording]).recording_id != recording_position_request_recording_id(request)):
            recording += 1
        if session == self._session_count or recording == self._recording_count:
            return False
        if load_acquire_i32(&(<ExclusivePublication>self._sessions[session].publication).handle_state) != STATE_OPEN:
            return False
        control_response_set_control_session_id(response, self._sessions[session].session_id)
        control_response_set_correlation_id(response, recording_position_request_correlation_id(request))
        control_response_set_relevant_id(response, (<RecordingSession>self._recordings[recording]).recorded_position())
        return (<ExclusivePublication>self._sessions[session].publication).append(self._response, RESPONSE_LENGTH, NULL, NULL) > 0
