"""Recorded frames that are to be sent again: what of them may be, and what is wrong with the rest.

Files are not trusted: each header is compared with what its place in the recording says, before the frame is stepped over.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from aerowire.archive.agents.agent_events cimport (
    FRAME_FAULT_CHECKSUM, FRAME_FAULT_LENGTH, FRAME_FAULT_STREAM_ID, FRAME_FAULT_TERM_ID, FRAME_FAULT_TERM_OFFSET, FRAME_FAULT_TYPE)
from aerowire.archive.files.checksum cimport CHECKSUM_NONE, compute_checksum
from aerowire.codecs.native.transport cimport (
    DATA_HEADER_LENGTH, FRAME_TYPE_DATA, FRAME_TYPE_PAD, FRAME_VERSION, data_header_frame_length, data_header_session_id,
    data_header_set_session_id, data_header_set_stream_id, data_header_stream_id, data_header_term_id, data_header_term_offset,
    data_header_type, data_header_version)
from aerowire.logbuffer.descriptor cimport compute_term_id, compute_term_offset
from aerowire.logbuffer.frame cimport STEP_NONE, frame_step


cdef inline bint _is_at_its_place(const uint8_t* frame, int32_t term_offset, int32_t term_id, int32_t stream_id) noexcept nogil:
    return (data_header_term_offset(frame) == term_offset and data_header_term_id(frame) == term_id
            and data_header_stream_id(frame) == stream_id and data_header_version(frame) == FRAME_VERSION)


cdef void _note(FrameRun* run, int32_t fault, int64_t expected, int64_t found) noexcept nogil:
    run.fault = fault
    run.fault_offset = run.length
    run.expected = expected
    run.found = found


cdef void _note_header(FrameRun* run, const uint8_t* frame, int32_t term_offset, int32_t term_id, int32_t stream_id) noexcept nogil:
    # The first field of a header that is not what it has to be.
    if data_header_term_offset(frame) != term_offset:
        _note(run, FRAME_FAULT_TERM_OFFSET, term_offset, data_header_term_offset(frame))
    elif data_header_term_id(frame) != term_id:
        _note(run, FRAME_FAULT_TERM_ID, term_id, data_header_term_id(frame))
    elif data_header_stream_id(frame) != stream_id:
        _note(run, FRAME_FAULT_STREAM_ID, stream_id, data_header_stream_id(frame))
    else:
        _note(run, FRAME_FAULT_TYPE, FRAME_TYPE_DATA << 8 | FRAME_VERSION, data_header_type(frame) << 8 | data_header_version(frame))


cdef void prepare_frames(uint8_t* bytes, int32_t length, const ReplayStream* stream, int64_t position, int64_t limit_position,
                         int64_t end_position, bint is_end_of_recording, FrameRun* run) noexcept nogil:
    cdef int32_t term_id = compute_term_id(position, stream.bits, stream.initial_term_id)
    cdef int32_t begin = compute_term_offset(position, stream.term_length)
    cdef int32_t room = stream.term_length - begin
    cdef int64_t begun = min(limit_position - position, <int64_t>length - <int64_t>DATA_HEADER_LENGTH + 1)    # frames begin before
    cdef int64_t ended = end_position - position                                    # ... and end here at the latest
    cdef int32_t frame_length, step, checksum
    cdef uint8_t* frame
    memset(run, 0, sizeof(FrameRun))
    while run.length < begun:
        frame = bytes + run.length
        frame_length = data_header_frame_length(frame)
        step = frame_step(frame_length, room - run.length)
        if step <= STEP_NONE:
            _note(run, FRAME_FAULT_LENGTH, DATA_HEADER_LENGTH, frame_length)
            break
        if not _is_at_its_place(frame, begin + run.length, term_id, stream.stream_id):
            _note_header(run, frame, begin + run.length, term_id, stream.stream_id)
            break
        if run.length + step > ended:
            if is_end_of_recording:
                _note(run, FRAME_FAULT_LENGTH, ended - run.length, frame_length)
            break
        if data_header_type(frame) != FRAME_TYPE_DATA:
            if data_header_type(frame) == FRAME_TYPE_PAD:
                run.padding = frame_length
            else:
                _note_header(run, frame, begin + run.length, term_id, stream.stream_id)
            break
        if frame_length > stream.frame_length_max:
            _note(run, FRAME_FAULT_LENGTH, stream.frame_length_max, frame_length)
            break
        if run.length + step > length:
            break               # the rest of it was not read
        if stream.checksum_kind != CHECKSUM_NONE:
            checksum = compute_checksum(stream.checksum_kind, frame + DATA_HEADER_LENGTH, step - <int32_t>DATA_HEADER_LENGTH)
            if checksum != data_header_session_id(frame):
                _note(run, FRAME_FAULT_CHECKSUM, data_header_session_id(frame), checksum)
                break
        data_header_set_session_id(frame, stream.new_session_id)
        data_header_set_stream_id(frame, stream.new_stream_id)
        run.length += step
