"""One recording: an image that is read, and the files that its blocks go to.

The order is the safety of what is recorded: a block is WRITTEN, then SYNCED where the sync level says so, then the position counter moves,
and then the publisher may write over the block. A failure on the way ends the recording, with the counter where it was.
"""

from libc.errno cimport EDQUOT, EEXIST, ENOSPC
from libc.stdint cimport INT64_MAX, int32_t, int64_t

from aerowire.archive.agents.agent_events cimport (
    EVENT_RECORDING_ENDED, RECORDING_END_COUNTER_CLOSED, RECORDING_END_IMAGE_CLOSED, RECORDING_END_MALFORMED_FRAME,
    RECORDING_END_SEGMENT_EXISTS, RECORDING_END_SEGMENT_MISSING, RECORDING_END_SEGMENT_SHORTENED, RECORDING_END_STOPPED,
    RECORDING_END_STORAGE_FULL, RECORDING_END_SYNC_FAILED, RECORDING_END_WRITE_FAILED, SESSION_DONE, ArchiveRecord)
from aerowire.archive.agents.recording_writer cimport (
    STEP_CREATE, STEP_SYNC, STEP_SYNC_DIRECTORY, WRITER_BUSY, WRITER_FAILED)
from aerowire.archive.agents.segment_watch cimport WATCH_MISSING, WATCH_SHORTENED
from aerowire.codecs.native.transport cimport FRAME_ALIGNMENT
from aerowire.logbuffer.block_reader cimport BLOCK_MALFORMED, LogBlock
from aerowire.memory.atomics cimport load_acquire_i32, load_acquire_i64, store_release_i32, store_release_i64


cdef class RecordingSession(AgentSession):
    """A recording from its image's position on, until it ends.

    `start_position` is that of the recording, which is before the image's where it is extended; `position` is the recording's counter, at
    the image's position. Raises ValueError for values that do not go together.

    Changed by: the recorder, once it was given to it.  Invariant: the counter <= recorded_position <= what is written and, where the sync
    level says so, synced; and the image's position <= the counter.
    """

    def __cinit__(self, LentImage image not None, LentCounter position not None, RecordingSettings settings not None, *,
                  int64_t recording_id, int64_t start_position, int32_t term_length, int32_t segment_length):
        cdef int64_t begin = image.position()
        if term_length < FRAME_ALIGNMENT or term_length & (term_length - 1):
            raise ValueError(f"term_length: expected a power of two, actual {term_length}")
        segment_length = max(segment_length, term_length)
        if segment_length & (segment_length - 1):
            raise ValueError(f"segment_length: expected a power of two, actual {segment_length}")
        if start_position < 0 or start_position % FRAME_ALIGNMENT or not start_position <= begin or begin % FRAME_ALIGNMENT:
            raise ValueError(f"start_position: expected a multiple of {FRAME_ALIGNMENT} up to the image's {begin}, actual {start_position}")
        self.image = image
        self.position_counter = position
        self.recording_id = recording_id
        self._length_limit = min(term_length, settings.file_io_max_length)
        self._writer = RecordingWriter(settings, recording_id, start_position, begin, term_length, segment_length, self._length_limit)
        self._watch = SegmentWatch(settings.files, settings.directory, recording_id, segment_length)
        self._recorded_position = begin

    cdef int do_work(self, ClockPort clock, TransferCounters totals, AgentEvents events, int64_t now_ns) noexcept nogil:
        return self._record(clock, totals, now_ns) if self._state == RECORDING_ACTIVE else self._finish(events)

    cdef void stop(self) noexcept nogil:
        self._is_stopping = True

    cdef int64_t next_deadline_ns(self) noexcept nogil:
        # What is under way completes by itself, and a full ring is emptied by the conductor.
        cdef bint is_watching = self._state == RECORDING_ACTIVE and not self._is_writing and self._writer.has_file()
        return self._watch.next_deadline_ns() if is_watching else INT64_MAX

    cdef bint is_over(self) noexcept nogil:
        return load_acquire_i32(&self._is_over) != 0

    cdef int64_t recorded_position(self) noexcept nogil:
        return load_acquire_i64(&self._recorded_position)

    cdef int _record(self, ClockPort clock, TransferCounters totals, int64_t now_ns) noexcept nogil:
        cdef LogBlock block
        cdef int32_t length
        cdef int seen
        cdef int work = 0
        cdef int status = self._writer.poll()
        if status == WRITER_BUSY:
            return 0
        if self._is_writing:
            work = self._on_written(clock, totals, status)
            if self._state != RECORDING_ACTIVE:
                return 1
        if self._is_stopping:
            return self._end(RECORDING_END_STOPPED)
        if not self.image.is_out():
            return self._end(RECORDING_END_IMAGE_CLOSED)
        if not self.position_counter.is_out():
            return self._end(RECORDING_END_COUNTER_CLOSED)
        if self._writer.has_file():
            seen = self._watch.look(self._writer.segment_position, now_ns)
            if seen == WATCH_MISSING:
                return self._end(RECORDING_END_SEGMENT_MISSING)
            if seen == WATCH_SHORTENED:
                self._outcome.expected = self._writer.segment_length
                self._outcome.found = self._watch.found
                return self._end(RECORDING_END_SEGMENT_SHORTENED)
        length = self.image.read(self._recorded_position, self._writer.segment_position + self._writer.segment_length, self._length_limit,
                                 &block)
        if length > 0:
            self._is_writing = True
            self._began_ns = clock.nano_time()
            self._writer.write(block.address, length, block.is_padding)
            status = self._writer.poll()
            return 1 if status == WRITER_BUSY else self._on_written(clock, totals, status)
        if length == BLOCK_MALFORMED:
            self._outcome.found = block.frame_length
            return self._end(RECORDING_END_MALFORMED_FRAME)
        if self._recorded_position >= self.image.end_of_stream_position():
            return self._end(RECORDING_END_IMAGE_CLOSED)
        return work

    cdef int _on_written(self, ClockPort clock, TransferCounters totals, int status) noexcept nogil:
        self._is_writing = False
        if status == WRITER_FAILED:
            return self._end_by_writer()
        totals.add(self._writer.data_length, clock.nano_time() - self._began_ns)
        store_release_i64(&self._recorded_position, self._writer.position)
        self.position_counter.set(self._writer.position)
        self.image.move_to(self._writer.position)       # LAST: the publisher may write over the block
        return 1

    cdef int _end_by_writer(self) noexcept nogil:
        cdef int64_t error = self._writer.error
        cdef int32_t step = self._writer.failed_step
        self._outcome.error = error
        if error == ENOSPC or error == EDQUOT:
            return self._end(RECORDING_END_STORAGE_FULL)
        if step == STEP_SYNC or step == STEP_SYNC_DIRECTORY:
            return self._end(RECORDING_END_SYNC_FAILED)
        return self._end(RECORDING_END_SEGMENT_EXISTS if step == STEP_CREATE and error == EEXIST else RECORDING_END_WRITE_FAILED)

    cdef int _end(self, int32_t reason) noexcept nogil:
        self._state = RECORDING_ENDED
        self._outcome.reason = reason
        self._outcome.position = self._recorded_position
        self._outcome.segment_position = self._writer.segment_position
        store_release_i32(&self._is_over, 1)
        self._writer.close()
        return 1

    cdef int _finish(self, AgentEvents events) noexcept nogil:
        cdef ArchiveRecord* record
        cdef int status = self._writer.poll()
        if status == WRITER_BUSY or not self._watch.is_idle():
            return 0
        if status == WRITER_FAILED and self._outcome.error == 0:        # the file could not be closed
            self._outcome.error = self._writer.error
            self._outcome.reason = RECORDING_END_WRITE_FAILED
        record = events.claim(EVENT_RECORDING_ENDED, <void*>self, &self._outcome)
        if record is NULL:
            return 0
        self.image.give_back()
        self.position_counter.give_back()
        events.publish(record)
        return SESSION_DONE

    cdef void abandon(self) noexcept nogil:
        if self._writer.poll() != WRITER_BUSY:
            self.image.give_back()
            self.position_counter.give_back()
        store_release_i32(&self._is_over, 1)

    # -- Python faces ----------------------------------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """Up to which all is recorded; any thread."""
        return self.recorded_position()

    @property
    def is_ended(self) -> bool:
        """Whether `position` is the last one; any thread."""
        return self.is_over()
