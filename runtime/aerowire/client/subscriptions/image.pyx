"""One publisher's stream as a subscriber reads it. Aeron: Image.

An image reads the log where it lies and moves the subscriber's position, which is what lets the publisher go on. It knows nothing of
commands or threads: the conductor makes it and ends it. Every buffer that it hands out keeps the log mapped.
"""

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t

from aerowire.base.whole_numbers cimport int32_of, int64_of
from aerowire.client.subscriptions.assembler cimport FragmentAssembler
from aerowire.client.subscriptions.block cimport Block, lend, poll_frames
from aerowire.client.subscriptions.controlled_poll cimport poll_controlled
from aerowire.client.subscriptions.header cimport Header
from aerowire.client.subscriptions.image_base cimport PADDINGS_MAX, ImageBase
from aerowire.client.handles.numbers cimport number_of
from aerowire.client.subscriptions.fixed_length_rows cimport FixedLengthRows, poll_rows
from aerowire.client.handles.state cimport STATE_OPEN
from aerowire.codecs.native.transport cimport DATA_FLAGS_UNFRAGMENTED, DATA_HEADER_LENGTH, data_header_flags
from aerowire.ipc.counters cimport counter_get, counter_set
from aerowire.logbuffer.descriptor cimport compute_frame_offset, compute_limit_offset, index_by_position
from aerowire.logbuffer.frame cimport STEP_MALFORMED, STEP_NONE, frame_is_padding, frame_length_acquire, frame_step
from aerowire.logbuffer.frame_write cimport PREFETCH_AFTER, PREFETCH_DISTANCE, prefetch_read

cdef extern from "Python.h":
    object PyObject_Vectorcall(object callable, PyObject** arguments, size_t count, PyObject* names)
    size_t PY_VECTORCALL_ARGUMENTS_OFFSET

cdef enum:
    RESERVED_COUNT = 256            # fragments that poll_many makes room for at a time: for few of them it should not take much memory


@cython.final
cdef class Image(ImageBase):
    """The messages of one publication, from where this subscriber joined. Made by the client's conductor only; belongs to one thread.

    A fragment handler is called as `handler(buffer, offset, length, header)`: Aeron's shape, because it costs no object a message. `buffer`
    is a read-only memoryview of a whole term, made once; the payload is `buffer[offset:offset + length]`, ready for `struct.unpack_from`
    or a generated decoder. `header.payload()` copies it, `header.position` and the rest are read from the log when asked for. Both are valid
    during the call; kept longer they are safe, but their content is undefined, because the log is written again.

    A handler that raises ends the poll: the error goes to the caller, or to the client's `subscriber_error_handler` where there is one, and the
    fragment counts as read.
    Invariant: only this object moves the subscriber position, and only forwards.
    """

    def poll(self, handler, fragment_limit=10):
        """Call `handler(buffer, offset, length, header)` for each message fragment that is there, at most `fragment_limit`; never waits.

        Returns how many fragments were delivered; 0 also when the stream has gone. Pass a FragmentAssembler to get whole messages.
        Raises what the handler raises, and ClosedError when the subscription is closed.
        """
        if self.handle_state != STATE_OPEN:
            return self.end_result()
        if self.subscriber_error_handler is None:
            return self.poll_fragments(handler, int32_of("fragment_limit", fragment_limit), INT64_MAX)
        return self.poll_reporting(handler, int32_of("fragment_limit", fragment_limit), INT64_MAX)

    def bounded_poll(self, handler, limit_position, fragment_limit=10):
        """As `poll`, but deliver only fragments that begin before `limit_position`."""
        if self.handle_state != STATE_OPEN:
            return self.end_result()
        return self.poll_reporting(handler, int32_of("fragment_limit", fragment_limit), int64_of("limit_position", limit_position))

    def controlled_poll(self, handler, fragment_limit=10):
        """As `poll`, where each call of `handler` returns the Action to go on with: ABORT, BREAK, COMMIT or CONTINUE (None is CONTINUE).

        ABORT leaves the fragment for the next poll and ends this one, BREAK ends this one after it, COMMIT moves the position past it at
        once and goes on, CONTINUE goes on. Pass a ControlledFragmentAssembler to get whole messages.
        """
        if self.handle_state != STATE_OPEN:
            return self.end_result()
        return poll_controlled(self, handler, int32_of("fragment_limit", fragment_limit), INT64_MAX)

    def bounded_controlled_poll(self, handler, limit_position, fragment_limit=10):
        """As `controlled_poll`, but deliver only fragments that begin before `limit_position`."""
        if self.handle_state != STATE_OPEN:
            return self.end_result()
        return poll_controlled(self, handler, int32_of("fragment_limit", fragment_limit), int64_of("limit_position", limit_position))

    def block_poll(self, handler, length_limit):
        """Call `handler(buffer, offset, length, session_id, term_id)` with the whole frames that lie next in the log, and count them as read.

        The frames come with their headers and alignment, at most `length_limit` bytes; padding comes alone, whatever its length. Returns
        how many bytes were handed over; 0 when nothing is there or the next frame is longer than `length_limit`. See also `poll_block`.
        """
        if self.handle_state != STATE_OPEN:
            return self.end_result()
        return poll_frames(self, handler, int32_of("length_limit", length_limit), False)

    def raw_poll(self, handler, length_limit):
        """As `block_poll`, with the file in which the frames lie, for sendfile() and the like:
        `handler(file, file_offset, buffer, offset, length, session_id, term_id)`.

        `file` is a raw binary file open for reading; it stays open as long as somebody refers to it.
        """
        if self.handle_state != STATE_OPEN:
            return self.end_result()
        return poll_frames(self, handler, int32_of("length_limit", length_limit), True)

    def poll_many(self, fragment_limit):
        """Copy up to `fragment_limit` fragments out and count them as read; return a FragmentBatch, empty when nothing is there."""
        cdef FragmentBatch batch = self.batches.take()
        if self.handle_state != STATE_OPEN:
            self.end_result()
        else:
            self.poll_batch(batch, int32_of("fragment_limit", fragment_limit))
        return batch

    def poll_into(self, array):
        """Copy payloads into the items of `array` and count them as read; return how many: see Subscription.poll_into."""
        cdef FixedLengthRows rows = FixedLengthRows(array)
        if self.handle_state != STATE_OPEN:
            return self.end_result()
        poll_rows(self, rows)
        return rows.filled

    def poll_block(self, length_limit):
        """Lend the whole frames that lie next in the log, without copying: at most `length_limit` bytes, but at least one frame.

        Returns a Block, to be used as a context manager: `with image.poll_block(65536) as block:`. The position moves at its release, so
        until then the publisher cannot write over it. An empty (false) Block when nothing is there. While a block is out, polling raises.
        """
        if self.handle_state != STATE_OPEN:
            self.end_result()
            return Block.__new__(Block)
        return lend(self, int32_of("length_limit", length_limit))

    cdef int poll_reporting(self, object handler, int fragment_limit, int64_t limit_position) except -1:
        if self.subscriber_error_handler is None:
            return self.poll_fragments(handler, fragment_limit, limit_position)
        self.fragments_read = 0
        try:
            return self.poll_fragments(handler, fragment_limit, limit_position)
        except Exception as error:
            if self.fragments_read == 0:
                raise  # not from the handler: nothing was delivered
            self.subscriber_error_handler(error)
            return self.fragments_read

    cdef int poll_fragments(self, object handler, int fragment_limit, int64_t limit_position) except -1:
        cdef int64_t initial_position = counter_get(self.subscriber_position)
        cdef int index = index_by_position(initial_position, self.position_bits_to_shift)
        cdef int32_t initial_offset = compute_frame_offset(initial_position, self.term_buffer_length)
        cdef int32_t offset = initial_offset
        cdef int32_t limit_offset
        cdef const uint8_t* term = self.log.terms[index]
        cdef const uint8_t* frame
        cdef int32_t length, step = STEP_NONE
        cdef int fragments = 0, paddings = 0
        cdef int heel = 0 if self.is_behind else PREFETCH_AFTER
        cdef Header header
        cdef FragmentAssembler assembler = None
        cdef object view, length_object = None
        cdef PyObject* offset_object
        cdef int32_t length_of_object = -1
        cdef PyObject* arguments[5]
        if frame_length_acquire(term + offset) <= 0 or initial_position >= limit_position:
            return 0
        limit_offset = compute_limit_offset(initial_position, limit_position, offset, self.term_buffer_length)
        self.require_idle()
        self.is_polling = True
        header = self.header
        view = self.term_views[index]
        if type(handler) is FragmentAssembler:
            assembler = <FragmentAssembler>handler
            handler = assembler.delegate
        arguments[1] = <PyObject*>view
        arguments[4] = <PyObject*>header
        try:
            while fragments < fragment_limit and offset < limit_offset:
                frame = term + offset
                length = frame_length_acquire(frame)
                step = frame_step(length, self.term_buffer_length - offset)
                if step <= 0:
                    break
                offset += step
                if frame_is_padding(frame):
                    paddings += 1
                    if paddings == PADDINGS_MAX:
                        break
                    continue
                fragments += 1
                if fragments > heel:
                    prefetch_read(frame + PREFETCH_DISTANCE)
                length -= DATA_HEADER_LENGTH
                header.frame = frame
                header.payload_address = frame + DATA_HEADER_LENGTH
                header.length = length
                if assembler is not None and data_header_flags(frame) & DATA_FLAGS_UNFRAGMENTED != DATA_FLAGS_UNFRAGMENTED:
                    assembler.accept(header)
                else:
                    if length != length_of_object:
                        length_object = length
                        length_of_object = length
                    offset_object = number_of(&self.numbers, header.payload_address - term)
                    if offset_object is NULL:
                        raise MemoryError("an int")
                    arguments[2] = offset_object
                    arguments[3] = <PyObject*>length_object
                    try:
                        PyObject_Vectorcall(handler, arguments + 1, 4 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL)
                    finally:
                        Py_DECREF(<object>offset_object)
                if self.handle_state != STATE_OPEN:
                    break
        finally:
            self.is_polling = False
            self.is_behind = fragments == fragment_limit
            self.fragments_read = fragments
            if self.handle_state == STATE_OPEN:
                counter_set(self.subscriber_position, initial_position + (offset - initial_offset))
        if step == STEP_MALFORMED and offset == initial_offset and self.handle_state == STATE_OPEN:
            self.end_malformed(initial_position, length)
        return fragments

    cdef int poll_batch(self, FragmentBatch batch, int fragment_limit) except -1:
        cdef int64_t position, expected
        cdef int32_t begin, offset, length, count, step
        cdef const uint8_t* term
        cdef int32_t already = batch.count
        cdef int32_t paddings = PADDINGS_MAX
        self.require_idle()
        while batch.count - already < fragment_limit and paddings > 0:
            position = counter_get(self.subscriber_position)
            begin = compute_frame_offset(position, self.term_buffer_length)
            term = self.log.terms[index_by_position(position, self.position_bits_to_shift)]
            length = frame_length_acquire(term + begin)
            step = frame_step(length, self.term_buffer_length - begin)
            if step <= 0:
                if step == STEP_MALFORMED:
                    self.end_malformed(position, length)
                break
            count = fragment_limit - (batch.count - already)
            expected = <int64_t>length * (count if count < RESERVED_COUNT else RESERVED_COUNT)
            if expected > self.term_buffer_length - begin:
                expected = self.term_buffer_length - begin
            batch.reserve(count if count < RESERVED_COUNT else RESERVED_COUNT, expected)
            offset = batch.take(term, begin, self.term_buffer_length, count, &paddings)
            if offset == begin:
                break                       # the frame is not what it was: the next poll looks again
            counter_set(self.subscriber_position, position + (offset - begin))
        return batch.count - already
