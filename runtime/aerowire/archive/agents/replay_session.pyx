"""One replay: the files of a recording, and the publication that their frames go to.

It reads a piece of the recording, checks its frames and makes them the publication's, offers them as one block, and reads on when they have
been sent. What is before a fault is sent before the replay ends with it.
"""

from libc.errno cimport ENOENT
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t

from aerowire.archive.agents.agent_events cimport (
    EVENT_REPLAY_ENDED, EVENT_REPLAY_STARTED, FRAME_FAULT_NONE, REPLAY_END_ABORTED, REPLAY_END_BLOCK_REFUSED, REPLAY_END_COMPLETE,
    REPLAY_END_CORRUPT_FRAME, REPLAY_END_DISCONNECTED, REPLAY_END_INVALID_POSITION, REPLAY_END_NOT_CONNECTED,
    REPLAY_END_POSITION_EXCEEDED, REPLAY_END_PUBLICATION_CLOSED, REPLAY_END_READ_FAILED, REPLAY_END_SEGMENT_MISSING,
    REPLAY_END_SEGMENT_SHORT, SESSION_DONE, ArchiveRecord)
from aerowire.archive.agents.replay_frames cimport prepare_frames
from aerowire.archive.agents.transfer_settings cimport TransferSettings
from aerowire.archive.agents.segment_reader cimport READER_BUSY, READER_FAILED
from aerowire.codecs.native.transport cimport (
    DATA_HEADER_LENGTH, FRAME_ALIGNMENT, data_header_stream_id, data_header_term_id, data_header_term_offset)
from aerowire.logbuffer.descriptor cimport (
    OFFER_ADMIN_ACTION, OFFER_BACK_PRESSURED, OFFER_CLOSED, OFFER_MAX_POSITION_EXCEEDED, OFFER_NOT_CONNECTED, align_frame,
    compute_term_id, compute_term_offset, position_bits_to_shift)


cdef class ReplaySession(AgentSession):
    """A replay from a position until its limit, or until what was recorded ends.

    `start_position`, `initial_term_id`, `stream_id`, `term_length` and `segment_length` are those of the recording, `stop_position` too
    unless a `source` records it now. The publication is at `position`, and has the recording's term length and MTU. `bound` is a
    PositionBound, beyond which nothing is read. `connect_timeout_ns` counts from the replayer's first cycle with it. A `file_io_max_length`
    above 0 lowers that of the settings. Raises ValueError for values that do not go together.

    Changed by: the replayer, once it was given to it.  Invariant: position is that of the publication; all before it was sent.
    """

    def __cinit__(self, LentPublication publication not None, TransferSettings settings not None, *, int64_t recording_id, int64_t position,
                  int64_t limit_position, int64_t start_position, int64_t stop_position, RecordingSession source=None,
                  PositionBound bound=None, int32_t initial_term_id, int32_t stream_id, int32_t term_length, int32_t segment_length,
                  int64_t connect_timeout_ns, int32_t file_io_max_length=0):
        cdef int32_t capacity = settings.file_io_max_length
        if term_length < FRAME_ALIGNMENT or term_length & (term_length - 1):
            raise ValueError(f"term_length: expected a power of two, actual {term_length}")
        segment_length = max(segment_length, term_length)
        if segment_length & (segment_length - 1):
            raise ValueError(f"segment_length: expected a power of two, actual {segment_length}")
        if not 0 <= start_position <= position or start_position % FRAME_ALIGNMENT or position % FRAME_ALIGNMENT:
            raise ValueError(f"position: expected a multiple of {FRAME_ALIGNMENT} from the start {start_position} on, actual {position}")
        if publication.position() != position:
            raise ValueError(f"publication: expected one at position {position}, actual {publication.position()}")
        if source is None and stop_position < position:
            raise ValueError(f"stop_position: expected at least {position} of a recording that is stopped, actual {stop_position}")
        if 0 < file_io_max_length < capacity:
            capacity = file_io_max_length
        capacity = min(capacity, term_length)
        self._stream.frame_length_max = publication.max_payload_length + <int32_t>DATA_HEADER_LENGTH
        if capacity < align_frame(self._stream.frame_length_max):
            raise ValueError(f"file_io_max_length: expected at least {self._stream.frame_length_max}, the longest frame, actual {capacity}")
        self._stream.term_length = term_length
        self._stream.initial_term_id = initial_term_id
        self._stream.bits = position_bits_to_shift(term_length)
        self._stream.stream_id = stream_id
        self._stream.checksum_kind = settings.checksum_kind
        self._stream.new_session_id = publication.session_id
        self._stream.new_stream_id = publication.stream_id
        self.publication = publication
        self.recording_id = recording_id
        self._source = source
        self._bound = bound
        self._position = position
        self._start_position = start_position
        self._stop_position = stop_position
        self._limit_position = limit_position
        self._connect_timeout_ns = connect_timeout_ns
        self._deadline_ns = INT64_MAX
        self._reader = SegmentReader(settings.files, settings.directory, recording_id, start_position, term_length, segment_length,
                                     capacity)

    cdef int do_work(self, ClockPort clock, TransferCounters totals, AgentEvents events, int64_t now_ns) noexcept nogil:
        if self._state == REPLAY_ENDED:
            return self._finish(events)
        return self._replay(clock, totals, events, now_ns)

    cdef void stop(self) noexcept nogil:
        self._is_aborted = True

    cdef int64_t next_deadline_ns(self) noexcept nogil:
        # What is under way completes by itself.
        return self._deadline_ns if self._state == REPLAY_CONNECTING and not self._is_reading else INT64_MAX

    cdef int _replay(self, ClockPort clock, TransferCounters totals, AgentEvents events, int64_t now_ns) noexcept nogil:
        cdef int status = self._reader.poll()
        cdef int work = 0
        if status == READER_BUSY:
            return 0
        if self._is_aborted:
            return self._end(REPLAY_END_ABORTED)
        if not self.publication.is_out():
            return self._end(REPLAY_END_PUBLICATION_CLOSED)
        if self._deadline_ns == INT64_MAX:
            self._deadline_ns = now_ns + self._connect_timeout_ns
        if self._is_reading:
            work += self._on_read(clock, totals, status)
        if self._state == REPLAY_ACTIVE:
            work += self._send() if self.publication.is_connected() else self._end(REPLAY_END_DISCONNECTED)
        if self._state != REPLAY_ENDED and not self._has_frames():
            work += self._read(clock, totals)
        if self._state == REPLAY_OPENING and not self._is_reading:
            work += self._start(events)
        if self._state == REPLAY_CONNECTING:
            work += self._connect(now_ns)
        return work

    cdef int _start(self, AgentEvents events) noexcept nogil:
        cdef ArchiveRecord* record = events.claim(EVENT_REPLAY_STARTED, <void*>self, &self._outcome)
        if record is NULL:
            return 0
        events.publish(record)
        self._state = REPLAY_CONNECTING
        return 1

    cdef int _connect(self, int64_t now_ns) noexcept nogil:
        if self.publication.is_connected():
            self._state = REPLAY_ACTIVE
            return 1
        return self._end(REPLAY_END_NOT_CONNECTED) if now_ns >= self._deadline_ns else 0

    cdef inline bint _has_frames(self) noexcept nogil:
        return self._run.length > 0 or self._padding_left > 0

    cdef void _find_end(self) noexcept nogil:
        # Whether the end is the last one FIRST: after that it does not move.
        cdef bint is_over = self._source is None or self._source.is_over()
        self._end_position = self._stop_position if self._source is None else self._source.recorded_position()
        self._is_end_of_recording = self._bound is None or self._end_position <= self._bound.read()
        self._is_last_end = is_over
        if not self._is_end_of_recording:
            self._end_position = self._bound.position
            self._is_last_end = self._bound.is_frozen

    cdef int _read(self, ClockPort clock, TransferCounters totals) noexcept nogil:
        cdef int64_t length
        cdef int status
        cdef bint has_more
        if self._run.fault != FRAME_FAULT_NONE:                 # all before it was sent
            return self._end_with_fault(REPLAY_END_CORRUPT_FRAME)
        self._find_end()
        has_more = self._position < self._end_position and self._looked_to != self._end_position
        if self._position >= self._limit_position or (self._is_last_end and not has_more):
            return self._end(REPLAY_END_COMPLETE) if self._state == REPLAY_ACTIVE else 0
        if not has_more:
            return 0
        length = self._stream.term_length - compute_term_offset(self._position, self._stream.term_length)
        length = min(length, self._end_position - self._position)
        if self._limit_position - self._position < length:      # a frame that begins before the limit is sent whole
            length = min(length, self._limit_position - self._position + self._stream.frame_length_max)
        self._is_reading = True
        self._began_ns = clock.nano_time()
        self._reader.read(self._position, length)
        status = self._reader.poll()
        return 1 if status == READER_BUSY else self._on_read(clock, totals, status)

    cdef int _on_read(self, ClockPort clock, TransferCounters totals, int status) noexcept nogil:
        self._is_reading = False
        if status == READER_FAILED:
            self._outcome.error = self._reader.error
            return self._end(REPLAY_END_SEGMENT_MISSING if self._reader.error == ENOENT else REPLAY_END_READ_FAILED)
        totals.add(self._reader.filled, clock.nano_time() - self._began_ns)
        prepare_frames(self._reader.buffer, self._reader.filled, &self._stream, self._position, self._limit_position, self._end_position,
                       self._is_end_of_recording, &self._run)
        self._padding_left = <int32_t>align_frame(self._run.padding)
        self._looked_to = 0
        if self._has_frames():
            return 1
        if self._run.fault != FRAME_FAULT_NONE:
            return self._end_with_fault(REPLAY_END_INVALID_POSITION if self._is_amid_frames() else REPLAY_END_CORRUPT_FRAME)
        if self._reader.filled < self._reader.wanted:
            self._run.fault_offset = self._reader.filled
            self._run.expected = self._position - self._reader.segment_position + self._reader.wanted
            self._run.found = self._position - self._reader.segment_position + self._reader.filled
            return self._end_with_fault(REPLAY_END_SEGMENT_SHORT)
        self._looked_to = self._end_position                    # the bound is in the midst of a frame
        return 1

    cdef bint _is_amid_frames(self) noexcept nogil:
        # Whether the replay was to begin where no frame of the stream begins, well or not.
        cdef const uint8_t* frame = self._reader.buffer
        return self._state == REPLAY_OPENING and self._position > self._start_position and (
            data_header_term_offset(frame) != compute_term_offset(self._position, self._stream.term_length)
            or data_header_term_id(frame) != compute_term_id(self._position, self._stream.bits, self._stream.initial_term_id)
            or data_header_stream_id(frame) != self._stream.stream_id)

    cdef int _send(self) noexcept nogil:
        cdef int64_t result
        cdef int work = 0
        if self._run.length > 0:
            result = self.publication.offer_block(self._reader.buffer, self._run.length)
            if result < 0:
                return self._on_refused(result)
            self._position += self._run.length
            self._run.length = 0
            work = 1
        while self._padding_left > 0:
            result = self._append_padding()
            if result < 0:
                return work + self._on_refused(result)
            work = 1
        return work

    cdef int64_t _append_padding(self) noexcept nogil:
        # A publication takes no more padding at once than a message: what is longer goes in parts.
        cdef int32_t part = self.publication.max_message_length & -<int32_t>FRAME_ALIGNMENT
        cdef int64_t length = part if self._padding_left > part else self._padding_left + self._run.padding - align_frame(self._run.padding)
        cdef int64_t result = self.publication.append_padding(length - <int64_t>DATA_HEADER_LENGTH)
        if result == OFFER_ADMIN_ACTION:
            result = self.publication.append_padding(length - <int64_t>DATA_HEADER_LENGTH)
        if result >= 0:
            self._padding_left -= <int32_t>align_frame(length)
            self._position += align_frame(length)
        return result

    cdef int _on_refused(self, int64_t result) noexcept nogil:
        if result == OFFER_BACK_PRESSURED or result == OFFER_ADMIN_ACTION:
            return 0
        if result == OFFER_NOT_CONNECTED:
            return self._end(REPLAY_END_DISCONNECTED)
        if result == OFFER_CLOSED:
            return self._end(REPLAY_END_PUBLICATION_CLOSED)
        return self._end(REPLAY_END_POSITION_EXCEEDED if result == OFFER_MAX_POSITION_EXCEEDED else REPLAY_END_BLOCK_REFUSED)

    cdef int _end_with_fault(self, int32_t reason) noexcept nogil:
        self._outcome.offset = self._reader.position - self._reader.segment_position + self._run.fault_offset
        self._outcome.fault = self._run.fault
        self._outcome.expected = self._run.expected
        self._outcome.found = self._run.found
        return self._end(reason)

    cdef int _end(self, int32_t reason) noexcept nogil:
        self._state = REPLAY_ENDED
        self._outcome.reason = reason
        self._outcome.position = self._position
        self._outcome.segment_position = self._reader.segment_position
        self._reader.close()
        return 1

    cdef int _finish(self, AgentEvents events) noexcept nogil:
        cdef ArchiveRecord* record
        if self._reader.poll() == READER_BUSY:
            return 0
        record = events.claim(EVENT_REPLAY_ENDED, <void*>self, &self._outcome)
        if record is NULL:
            return 0
        self.publication.give_back()
        events.publish(record)
        return SESSION_DONE

    cdef void abandon(self) noexcept nogil:
        self.publication.give_back()        # no operation uses it
