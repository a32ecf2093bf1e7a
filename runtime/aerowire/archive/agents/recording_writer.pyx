"""Writes blocks of a recording into its segment files, each step an operation of the files port.

Segments are made when their first block is written: at their full length, with the space for it where the settings say so, and their name
synced, BEFORE the block. A block counts as written when the operation has taken all of it, and at sync levels above 0 when a sync behind it
has succeeded. No step is tried again.
"""

from libc.errno cimport EEXIST, EINTR, EIO
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cimport cython

from aerowire.archive.agents.segment_file cimport FILE_NONE, segment_base_position
from aerowire.archive.files.checksum cimport CHECKSUM_NONE, compute_checksum
from aerowire.base.file_port cimport FILE_CREATE, FILE_EXCLUSIVE, FILE_WRITABLE
from aerowire.codecs.native.transport cimport DATA_HEADER_LENGTH, data_header_set_session_id
from aerowire.logbuffer.frame cimport STEP_NONE, frame_length_acquire, frame_step
from aerowire.logbuffer.frame_write cimport prefetch_read

cdef enum:
    _CACHE_LINE = 64
    _PREFETCH_DISTANCE = 8192       # about a microsecond of copying and summing: lines have arrived then, and are in the first cache still


@cython.no_gc_clear
@cython.final
cdef class RecordingWriter:
    """One recording's way to its files; steps follow each other as operations complete.

    Invariant: `position` moves when a block is written and synced, never after a failure.
    """

    def __cinit__(self, RecordingSettings settings not None, int64_t recording_id, int64_t start_position, int64_t position,
                  int32_t term_length, int32_t segment_length, int32_t block_length_max):
        self._settings = settings
        self._file = SegmentFile(settings.files, settings.directory, recording_id)
        self.position = position
        self.segment_length = segment_length
        self.segment_position = segment_base_position(start_position, position, term_length, segment_length)
        self._is_first = True
        if settings.checksum_kind != CHECKSUM_NONE:
            self._copy = <uint8_t*>malloc(block_length_max)
            if self._copy is NULL:
                raise MemoryError(f"{block_length_max} bytes for a recording with checksums")

    def __dealloc__(self):
        if self._file is None or self._file.is_at_rest():       # else it is written later
            free(self._copy)

    cdef bint has_file(self) noexcept nogil:
        return self._file.handle != FILE_NONE

    cdef void write(self, const uint8_t* block, int32_t length, bint is_padding) noexcept nogil:
        self._address = block
        self._block_length = length
        self.data_length = <int32_t>DATA_HEADER_LENGTH if is_padding else length
        if self._copy is not NULL and not is_padding:
            self._copy_with_checksums(block, length)
            self._address = self._copy
        self._left = self.data_length
        self._offset = self.position - self.segment_position
        self._begin(STEP_WRITE if self.has_file() else STEP_CREATE)

    cdef void close(self) noexcept nogil:
        if self.has_file():
            self._begin(STEP_CLOSE)

    cdef int poll(self) noexcept nogil:
        while self._step != STEP_NONE:
            if not self._file.is_done():
                return WRITER_BUSY
            self._on_done(self._file.take_result())
        return WRITER_FAILED if self.error else WRITER_READY

    cdef void _copy_with_checksums(self, const uint8_t* block, int32_t length) noexcept nogil:
        # Frame by frame, so that each is summed while it is in the processor's first cache. Its length is read once: others write to logs.
        # Lines of the frames to come are asked for meanwhile: the publisher's processor has them, and copy and sum would wait for each.
        cdef int32_t offset = 0
        cdef int32_t ahead = 0
        cdef int32_t step
        cdef uint8_t* frame
        while offset < length:
            frame = self._copy + offset
            step = frame_step(frame_length_acquire(block + offset), length - offset)
            if step <= STEP_NONE:
                memcpy(frame, block + offset, length - offset)
                break
            while ahead < min(offset + step + _PREFETCH_DISTANCE, length):
                prefetch_read(block + ahead)
                ahead += _CACHE_LINE
            memcpy(frame, block + offset, step)
            data_header_set_session_id(frame, compute_checksum(self._settings.checksum_kind, frame + DATA_HEADER_LENGTH,
                                                               step - <int32_t>DATA_HEADER_LENGTH))
            offset += step

    cdef void _begin(self, int32_t step) noexcept nogil:
        self._step = step
        if step == STEP_WRITE:
            self._file.write(self._address, self._left, self._offset)
        elif step == STEP_SYNC:
            self._file.sync(self._settings.sync_level > 1)
        elif step == STEP_CREATE:
            self._is_new = True
            self._file.open_segment(self.segment_position, FILE_WRITABLE | FILE_CREATE | FILE_EXCLUSIVE)
        elif step == STEP_OPEN:
            self._is_new = False
            self._file.open_segment(self.segment_position, FILE_WRITABLE)
        elif step == STEP_SET_LENGTH and self._settings.is_preallocated:
            self._file.preallocate(self.segment_length)
        elif step == STEP_SET_LENGTH:
            self._file.set_length(self.segment_length)
        elif step == STEP_SYNC_DIRECTORY:
            self._file.sync_directory()
        elif step == STEP_DELETE:
            self._file.delete()
        else:
            self._file.close()

    cdef void _on_done(self, int64_t result) noexcept nogil:
        cdef int32_t step = self._step
        self._step = STEP_NONE
        if step == STEP_DISCARD:
            self._begin(STEP_DELETE)
        elif step == STEP_DELETE:
            pass                # what could be done was done: the failure before is the one that counts
        elif result < 0 and not (step == STEP_CLOSE and result == -EINTR):
            if step == STEP_CREATE and result == -EEXIST and self._is_first:
                self._begin(STEP_OPEN)
            else:
                self.failed_step = step
                self._on_failure(-result)
        elif step == STEP_CREATE or step == STEP_OPEN:
            self._begin(STEP_SET_LENGTH)
        elif step == STEP_SET_LENGTH:
            self._is_first = False
            self._begin(STEP_SYNC_DIRECTORY if self._settings.sync_level > 0 else STEP_WRITE)
        elif step == STEP_SYNC_DIRECTORY:
            self._begin(STEP_WRITE)
        elif step == STEP_WRITE:
            self._address += result
            self._offset += result
            self._left -= <int32_t>result
            if result == 0:
                self.failed_step = step
                self._on_failure(EIO)
            elif self._left > 0:
                self._begin(STEP_WRITE)
            elif self._settings.sync_level > 0:
                self._begin(STEP_SYNC)
            else:
                self._on_written()
        elif step == STEP_SYNC:
            self._on_written()

    cdef void _on_written(self) noexcept nogil:
        self._is_new = False
        self.position += self._block_length
        if self.position == self.segment_position + self.segment_length:
            self.segment_position = self.position
            self._begin(STEP_CLOSE)

    cdef void _on_failure(self, int64_t error) noexcept nogil:
        if self.error == 0:
            self.error = error
        if self._is_new and self.has_file():
            self._is_new = False
            self._begin(STEP_DISCARD)
