"""The log of a cluster as a service reads it: no further than the commit position, messages and events in order. Aeron: BoundedLogAdapter.

Session messages go to the service from here, one by one or as runs; all other templates go to the agent. A frame counts as read when its
handler has returned or raised, so that a message that a service cannot handle is not delivered again.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.ref cimport Py_REFCNT
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t

from aerowire.base.whole_numbers cimport int32_of
from aerowire.client.handles.buffers cimport NativeBuffer
from aerowire.client.handles.state cimport STATE_OPEN
from aerowire.client.subscriptions.image cimport Image
from aerowire.client.subscriptions.image_base cimport PADDINGS_MAX
from aerowire.codecs.native.cluster cimport (
    SBE_HEADER_LENGTH, SBE_SCHEMA_ID, SESSION_MESSAGE_HEADER_BLOCK_LENGTH, SESSION_MESSAGE_HEADER_TEMPLATE_ID, header_schema_id,
    header_template_id, session_message_header_cluster_session_id, session_message_header_timestamp)
from aerowire.codecs.native.transport cimport (
    DATA_FLAGS_BEGIN, DATA_FLAGS_END, DATA_FLAGS_UNFRAGMENTED, DATA_HEADER_LENGTH, data_header_flags)
from aerowire.ipc.counters cimport CountersReader, counter_get, counter_set
from aerowire.logbuffer.descriptor cimport compute_frame_offset, compute_limit_offset, index_by_position
from aerowire.logbuffer.frame cimport STEP_MALFORMED, frame_is_padding, frame_length_acquire, frame_step
from aerowire.logbuffer.frame_write cimport PREFETCH_AFTER, PREFETCH_DISTANCE, prefetch_read

from aerowire.base.errors import ClusterServiceError
from aerowire.cluster.services.message_batch import MessageBatch

cdef enum:
    BYTES_PER_MESSAGE = 3 * 8 + 2 * 4   # of a batch's arrays
    NOTHING = -2                        # no frame is there: 0 stands for padding

cdef int32_t SESSION_HEADER_LENGTH = SBE_HEADER_LENGTH + SESSION_MESSAGE_HEADER_BLOCK_LENGTH


@cython.final
cdef class BoundedLogAdapter:
    """Reads the image of a log, for one agent. `on_message(session, message, at)` is the service's, `on_event(template_id, message,
    position)` the agent's, which returns true to end the poll there; `on_batch(batch)`, if there is one, takes the place of `on_message`.

    `log_position` and `cluster_time` are those of the message that was delivered last; `max_log_position` is where the agent stops.
    Invariant: no frame is read that begins at the commit position or behind it.
    """

    def __init__(self, on_message, on_event, on_batch=None, batch_limit=1024):
        self._on_message = on_message
        self._on_event = on_event
        self._on_batch = on_batch
        self._batch_limit = int32_of("batch_limit", batch_limit)
        self._sessions = {}
        self._next_part_offset = -1
        self._last_time = 0
        self.max_log_position = INT64_MAX

    # ---- what the agent sets

    def bound(self, CountersReader counters not None, counter_id):
        """Take the counter of the commit position, which the counters keep readable."""
        cdef const int64_t* address = counters.value_address(int32_of("counter_id", counter_id))
        if address is NULL:
            raise IndexError(f"counter {counter_id} is outside the counters buffer")
        self._counters = counters
        self._commit_position = address

    def join(self, Image image not None, int64_t max_log_position):
        """Read this image from now on."""
        self._image = image
        self.max_log_position = max_log_position
        self.drop_parts()

    def leave(self):
        """Forget the image; return it, or None."""
        image, self._image = self._image, None
        self.drop_parts()
        return image

    def stop_at(self, int64_t max_log_position):
        """Let the log count as done at a position."""
        self.max_log_position = max_log_position

    def advance(self, int64_t log_position, int64_t cluster_time):
        """Take position and time of an event that the agent handles."""
        self.log_position = log_position
        self.cluster_time = cluster_time

    def add_session(self, int64_t session_id, session):
        """Deliver messages of a session with it."""
        self._sessions[session_id] = session
        self._last_session = None

    def remove_session(self, int64_t session_id):
        """Deliver messages of a session without it; return the session, or None."""
        self._last_session = None
        return self._sessions.pop(session_id, None)

    # ---- what it tells

    @property
    def image(self):
        """The image that is read; None between two."""
        return self._image

    @property
    def sessions(self):
        """Sessions by their ids."""
        return self._sessions

    @property
    def commit_position(self):
        """The commit position now; 0 before there is a counter."""
        return 0 if self._commit_position is NULL else counter_get(self._commit_position)

    @property
    def is_done(self):
        """Whether the image has nothing more for this agent."""
        return self._image is None or (
            self._image.current_position() >= self.max_log_position or self._image.is_end_of_stream or self._image.is_closed)

    # ---- reading

    def poll(self, fragment_limit):
        """Deliver what is there and committed, at most so many fragments, or runs of messages; return how many. Raises what a handler raises."""
        cdef Image image = self._image
        cdef int64_t initial_position, commit_position
        cdef int index, fragments = 0, paddings = 0, outcome = 0
        cdef int limit = int32_of("fragment_limit", fragment_limit)
        cdef int32_t initial_offset, offset, limit_offset, end
        cdef const uint8_t* term
        cdef Frame frame
        if image is None or self._commit_position is NULL or image.handle_state != STATE_OPEN:
            return 0
        initial_position = counter_get(image.subscriber_position)
        commit_position = counter_get(self._commit_position)
        index = index_by_position(initial_position, image.position_bits_to_shift)
        offset = initial_offset = compute_frame_offset(initial_position, image.term_buffer_length)
        term = image.log.terms[index]
        if initial_position >= commit_position or frame_length_acquire(term + offset) <= 0:
            return 0
        limit_offset = compute_limit_offset(initial_position, commit_position, offset, image.term_buffer_length)
        image.require_idle()
        image.is_polling = True
        self._is_stopped = False
        try:
            while fragments < limit and offset < limit_offset and not self._is_stopped and image.handle_state == STATE_OPEN:
                if self._on_batch is not None:
                    end = self.scan_run(term, offset, limit_offset, image.term_buffer_length, initial_position - initial_offset)
                    if end != offset:
                        offset = end
                        fragments += self._batch.count
                        self.deliver_run(image.term_views[index])
                        continue
                outcome = next_frame(term, offset, image.term_buffer_length, &frame)
                if outcome < 0:
                    break
                offset = frame.next_offset
                if outcome == 0:
                    paddings += 1
                    if paddings == PADDINGS_MAX:
                        break
                    continue
                fragments += 1
                if fragments > PREFETCH_AFTER:
                    prefetch_read(term + offset + PREFETCH_DISTANCE)
                self.deliver(&frame, initial_position + (offset - initial_offset))
        finally:
            image.is_polling = False
            if image.handle_state == STATE_OPEN and offset != initial_offset:
                counter_set(image.subscriber_position, initial_position + (offset - initial_offset))
        if outcome == STEP_MALFORMED and offset == initial_offset and image.handle_state == STATE_OPEN:
            image.end_malformed(initial_position, frame.length)
        return fragments

    cdef bint has_work(self) noexcept nogil:
        cdef int64_t position
        cdef int32_t offset
        if self._image is None or self._commit_position is NULL or self._image.handle_state != STATE_OPEN:
            return False
        position = counter_get(self._image.subscriber_position)
        if position >= counter_get(self._commit_position):
            return False
        offset = compute_frame_offset(position, self._image.term_buffer_length)
        return frame_length_acquire(self._image.log.terms[index_by_position(position, self._image.position_bits_to_shift)] + offset) > 0

    cdef int deliver(self, Frame* frame, int64_t position) except -1:
        if frame.flags & DATA_FLAGS_UNFRAGMENTED == DATA_FLAGS_UNFRAGMENTED:
            self.deliver_whole(frame.payload, frame.length, position, None)
        else:
            self.deliver_part(frame, position)
        return 0

    cdef int deliver_whole(self, const uint8_t* payload, int64_t length, int64_t position, bytes whole) except -1:
        # `whole` is the message as an object, where there is one already.
        cdef int template_id
        if length < SBE_HEADER_LENGTH or header_schema_id(payload) != SBE_SCHEMA_ID:
            raise ClusterServiceError(
                "a message in the log is of another schema", where=f"log position {position}", expected=f"schema {SBE_SCHEMA_ID}",
                actual=f"schema {header_schema_id(payload)}" if length >= SBE_HEADER_LENGTH else f"{length} bytes")
        template_id = header_template_id(payload)
        if template_id != SESSION_MESSAGE_HEADER_TEMPLATE_ID:
            if whole is None:
                whole = PyBytes_FromStringAndSize(<const char*>payload, length)
            self._is_stopped = self._on_event(template_id, whole, position)
            return 0
        if length < SESSION_HEADER_LENGTH:
            raise ClusterServiceError("a message in the log is too short", where=f"log position {position}",
                                      expected=f"{SESSION_HEADER_LENGTH} bytes of header", actual=f"{length} bytes")
        self.log_position = position
        self.cluster_time = session_message_header_timestamp(payload + SBE_HEADER_LENGTH)
        session_id = session_message_header_cluster_session_id(payload + SBE_HEADER_LENGTH)
        message = PyBytes_FromStringAndSize(<const char*>payload + SESSION_HEADER_LENGTH, length - SESSION_HEADER_LENGTH)
        if self._on_batch is None:
            self._on_message(self.session_of(session_id), message, self.time_of(self.cluster_time))
            return 0
        self._batch = RunArrays(1)      # the message came in fragments, and lies in no term as a whole
        self._batch.put(0, session_id, self.cluster_time, position, 0, <int32_t>(length - SESSION_HEADER_LENGTH))
        self.deliver_run(memoryview(message))
        return 0

    cdef int deliver_part(self, Frame* frame, int64_t position) except -1:
        cdef bytes whole
        if frame.flags & DATA_FLAGS_BEGIN:
            self.drop_parts()
        elif self._next_part_offset != frame.next_offset - frame.step:
            self.drop_parts()           # of a message whose beginning was not read
            return 0
        self._parts.append(PyBytes_FromStringAndSize(<const char*>frame.payload, frame.length))
        self._next_part_offset = frame.next_offset
        if frame.flags & DATA_FLAGS_END:
            whole = b"".join(self._parts)
            self.drop_parts()
            self.deliver_whole(<const uint8_t*>PyBytes_AS_STRING(whole), len(whole), position, whole)
        return 0

    cdef int drop_parts(self) except -1:
        self._parts = []
        self._next_part_offset = -1
        return 0

    cdef object session_of(self, int64_t session_id):
        if self._last_session is None or session_id != self._last_session_id:
            self._last_session = self._sessions.get(session_id)
            self._last_session_id = session_id
        return self._last_session

    cdef object time_of(self, int64_t timestamp):
        if timestamp != self._last_time_value:
            self._last_time = timestamp
            self._last_time_value = timestamp
        return self._last_time

    cdef int32_t scan_run(self, const uint8_t* term, int32_t offset, int32_t limit_offset, int32_t term_length, int64_t base) except -1:
        # Collect whole session messages from `offset` on; returns where the first frame that is none begins. `base` is the term's position.
        cdef Frame frame
        cdef int32_t count = 0
        cdef RunArrays run = self._batch
        if run is None or run.capacity < self._batch_limit or not run.is_reusable():
            run = self._batch = RunArrays(self._batch_limit)
        while count < self._batch_limit and offset < limit_offset:
            if next_frame(term, offset, term_length, &frame) <= 0 or frame.flags & DATA_FLAGS_UNFRAGMENTED != DATA_FLAGS_UNFRAGMENTED:
                break
            if (frame.length < SESSION_HEADER_LENGTH or header_schema_id(frame.payload) != SBE_SCHEMA_ID
                    or header_template_id(frame.payload) != SESSION_MESSAGE_HEADER_TEMPLATE_ID):
                break
            offset = frame.next_offset
            if count >= PREFETCH_AFTER:
                prefetch_read(term + offset + PREFETCH_DISTANCE)
            run.put(count, session_message_header_cluster_session_id(frame.payload + SBE_HEADER_LENGTH),
                    session_message_header_timestamp(frame.payload + SBE_HEADER_LENGTH), base + offset,
                    <int32_t>(frame.payload - term) + SESSION_HEADER_LENGTH, frame.length - SESSION_HEADER_LENGTH)
            count += 1
        run.count = count
        return offset

    cdef int deliver_run(self, object data) except -1:
        cdef RunArrays run = self._batch
        self.log_position = run.positions[run.count - 1]
        self.cluster_time = run.timestamps[run.count - 1]
        batch = MessageBatch(data, run.memory, run.count, run.capacity)
        try:
            self._on_batch(batch)
        finally:
            batch.release()
        return 0


@cython.final
cdef class RunArrays:
    """The arrays of a batch, which Python reads as one buffer: session ids, timestamps, positions, offsets, lengths, each for `capacity` messages."""

    def __cinit__(self, int32_t capacity):
        if capacity < 1:
            raise ValueError(f"a batch of {capacity} messages")
        self.memory = NativeBuffer(BYTES_PER_MESSAGE * <int64_t>capacity)
        self.capacity = capacity
        self.session_ids = <int64_t*>self.memory.address
        self.timestamps = self.session_ids + capacity
        self.positions = self.timestamps + capacity
        self.offsets = <int32_t*>(self.positions + capacity)
        self.lengths = self.offsets + capacity

    cdef void put(self, int32_t index, int64_t session_id, int64_t timestamp, int64_t position, int32_t offset, int32_t length) noexcept nogil:
        self.session_ids[index] = session_id
        self.timestamps[index] = timestamp
        self.positions[index] = position
        self.offsets[index] = offset
        self.lengths[index] = length
        self.count = index + 1

    cdef bint is_reusable(self) noexcept:
        # No batch, and no array of one, holds the memory any more.
        return Py_REFCNT(self.memory) == 1


# Returns 1 for a frame of data, 0 for padding, or a STEP_ result; the frame's length is set in any case.
cdef int next_frame(const uint8_t* term, int32_t offset, int32_t term_length, Frame* found) noexcept nogil:
    cdef const uint8_t* frame = term + offset
    cdef int32_t step
    found.length = frame_length_acquire(frame)
    step = frame_step(found.length, term_length - offset)
    if step <= 0:
        return STEP_MALFORMED if step == STEP_MALFORMED else NOTHING
    found.step = step
    found.next_offset = offset + step
    if frame_is_padding(frame):
        return 0
    found.payload = frame + DATA_HEADER_LENGTH
    found.length -= DATA_HEADER_LENGTH
    found.flags = data_header_flags(frame)
    return 1
