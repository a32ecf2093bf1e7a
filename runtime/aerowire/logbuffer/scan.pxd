# Readers of a term: what may be sent, what may be polled, what is missing.

from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.codecs.native.transport cimport DATA_HEADER_LENGTH, FRAME_TYPE_PAD, data_header_type
from aerowire.logbuffer.descriptor cimport align_frame
from aerowire.logbuffer.frame cimport frame_is_padding, frame_length_acquire

# Bytes of whole committed frames from offset, at most max_length, for one datagram. *padding gets the bytes of padding that follow a
# PAD header, which is itself counted in the result (32). Negative: the first frame alone is longer than max_length (its length, negated).
# Aeron: TermScanner.
cdef int32_t scan_for_availability(const uint8_t* term, int32_t term_length, int32_t offset, int32_t max_length, int32_t* padding) noexcept nogil

# A contiguous run of committed frames from offset up to limit_offset, ending before or after a padding frame (a padding frame only
# alone, as the first). Returns the offset after the run. Aeron: TermBlockScanner.
cdef int32_t scan_block(const uint8_t* term, int32_t offset, int32_t limit_offset) noexcept nogil

# The step of a poll: the frame at offset, or NULL when none is committed there (or offset >= limit_offset). *next_offset follows it;
# *is_padding tells a PAD frame, which is stepped over but not delivered.
cdef inline const uint8_t* next_frame(const uint8_t* term, int32_t offset, int32_t limit_offset, int32_t* next_offset,
                                      bint* is_padding) noexcept nogil:
    cdef int32_t length
    if offset >= limit_offset:
        return NULL
    length = frame_length_acquire(term + offset)
    if length <= 0:
        return NULL
    next_offset[0] = offset + <int32_t>align_frame(length)
    is_padding[0] = frame_is_padding(term + offset)
    return term + offset

# Scan rebuilt data from offset to limit_offset for a hole. Returns the offset where the hole begins (= limit_offset when none) and, when
# there is one, sets *gap_length to its bytes. Aeron: TermGapScanner.
cdef int32_t scan_for_gap(const uint8_t* term, int32_t offset, int32_t limit_offset, int32_t* gap_length) noexcept nogil

# First offset from `offset` where no frame is committed, within limit_offset: how far contiguous data reaches.
cdef int32_t scan_contiguous(const uint8_t* term, int32_t offset, int32_t limit_offset) noexcept nogil
