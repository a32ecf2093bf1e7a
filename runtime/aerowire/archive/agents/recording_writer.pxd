# Writes blocks of a recording into its segment files. Aeron: RecordingWriter.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.archive.agents.recording_settings cimport RecordingSettings
from aerowire.archive.agents.segment_file cimport SegmentFile

# What `poll` returns.
cdef enum WriterState:
    WRITER_READY = 0            # nothing is under way: all that was given is written, and synced where the settings say so
    WRITER_BUSY = 1
    WRITER_FAILED = 2           # for good; see `failed_step` and `error`

cdef enum WriterStep:
    STEP_NONE = 0
    STEP_CREATE                 # a segment that is not there
    STEP_OPEN                   # the segment that a recording goes on in
    STEP_SET_LENGTH
    STEP_SYNC_DIRECTORY
    STEP_WRITE
    STEP_SYNC
    STEP_CLOSE                  # at the end of a segment, or of the recording
    STEP_DISCARD                # close a new segment that no space could be had for
    STEP_DELETE                 # ... and take its name away


@cython.final
cdef class RecordingWriter:
    """RecordingWriter(settings, recording_id, start_position, position, term_length, segment_length, block_length_max). The recorder's."""

    cdef RecordingSettings _settings
    cdef SegmentFile _file
    cdef int64_t position           # up to which all is written, and synced where the settings say so
    cdef int64_t segment_position   # at which the segment begins that holds `position`, or begins there
    cdef int32_t segment_length
    cdef int32_t _step
    cdef bint _is_first             # the recording may go on in a segment that is there
    cdef bint _is_new               # nothing is in the segment yet
    cdef const uint8_t* _address    # what is left to be written of the block
    cdef int32_t _left
    cdef int64_t _offset            # of it, in the segment
    cdef int32_t _block_length      # in the log
    cdef int32_t data_length        # in the file: of padding the header alone
    cdef uint8_t* _copy             # where a block gets its checksums; NULL without
    cdef int64_t error              # an errno
    cdef int32_t failed_step

    # A block of the log at `position`, within one segment: of data, or of padding, of which the header is written. Follow by poll().
    cdef void write(self, const uint8_t* block, int32_t length, bint is_padding) noexcept nogil
    cdef void close(self) noexcept nogil            # when nothing is under way, also after a failure; follow by poll()
    cdef int poll(self) noexcept nogil              # go on with what is done; a WriterState
    cdef bint has_file(self) noexcept nogil

    cdef void _copy_with_checksums(self, const uint8_t* block, int32_t length) noexcept nogil
    cdef void _begin(self, int32_t step) noexcept nogil
    cdef void _on_done(self, int64_t result) noexcept nogil
    cdef void _on_failure(self, int64_t error) noexcept nogil
    cdef void _on_written(self) noexcept nogil
