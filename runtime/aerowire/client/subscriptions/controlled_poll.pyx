"""Polls whose handler says after each fragment how to go on. Aeron: Image.controlledPoll, ControlledFragmentHandler."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.client.subscriptions.header cimport Header
from aerowire.client.subscriptions.image_base cimport PADDINGS_MAX, ImageBase
from aerowire.client.handles.state cimport STATE_OPEN
from aerowire.codecs.native.transport cimport DATA_HEADER_LENGTH
from aerowire.ipc.counters cimport counter_get, counter_set
from aerowire.logbuffer.descriptor cimport compute_frame_offset, compute_limit_offset, index_by_position
from aerowire.logbuffer.frame cimport STEP_MALFORMED, STEP_NONE, frame_is_padding, frame_length_acquire, frame_step

from aerowire.client.subscriptions.actions import Action

cdef object ABORT = Action.ABORT
cdef object BREAK = Action.BREAK
cdef object COMMIT = Action.COMMIT
cdef object CONTINUE = Action.CONTINUE


cdef int poll_controlled(ImageBase image, object handler, int fragment_limit, int64_t limit_position) except -1:
    cdef int64_t initial_position = counter_get(image.subscriber_position)
    cdef int index = index_by_position(initial_position, image.position_bits_to_shift)
    cdef int32_t initial_offset = compute_frame_offset(initial_position, image.term_buffer_length)
    cdef int32_t offset = initial_offset
    cdef int32_t limit_offset
    cdef const uint8_t* term = image.log.terms[index]
    cdef const uint8_t* frame
    cdef int32_t length, step = STEP_NONE
    cdef int fragments = 0, paddings = 0
    cdef Header header = image.header
    cdef object action, view = image.term_views[index]
    if initial_position >= limit_position or frame_length_acquire(term + offset) <= 0:
        return 0
    limit_offset = compute_limit_offset(initial_position, limit_position, offset, image.term_buffer_length)
    image.require_idle()
    image.is_polling = True
    try:
        while fragments < fragment_limit and offset < limit_offset and image.handle_state == STATE_OPEN:
            frame = term + offset
            length = frame_length_acquire(frame)
            step = frame_step(length, image.term_buffer_length - offset)
            if step <= 0:
                break
            offset += step
            if frame_is_padding(frame):
                paddings += 1
                if paddings == PADDINGS_MAX:
                    break
                continue
            fragments += 1
            header.frame = frame
            header.payload_address = frame + DATA_HEADER_LENGTH
            header.length = length - DATA_HEADER_LENGTH
            action = handler(view, header.payload_address - term, header.length, header)
            if action is None or action is CONTINUE:
                continue
            if action is ABORT:
                fragments -= 1
                offset -= step
                break
            if action is BREAK:
                break
            if action is not COMMIT:
                raise TypeError(f"a controlled fragment handler returns an Action or None, not {action!r}")
            initial_position += offset - initial_offset
            initial_offset = offset
            if image.handle_state == STATE_OPEN:
                counter_set(image.subscriber_position, initial_position)
    except Exception as error:
        if image.subscriber_error_handler is None:
            raise
        image.subscriber_error_handler(error)
    finally:
        image.is_polling = False
        if image.handle_state == STATE_OPEN and offset != initial_offset:
            counter_set(image.subscriber_position, initial_position + (offset - initial_offset))
    if step == STEP_MALFORMED and fragments == 0 and offset == initial_offset and image.handle_state == STATE_OPEN:
        image.end_malformed(initial_position, length)
    return fragments
