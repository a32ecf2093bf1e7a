# Readers of a term: what may be sent, what may be polled, what is missing.
#
# An offset is a multiple of the frame alignment. A frame that cannot be stepped over (frame_step) ends every walk before it.

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum:
    AVAILABLE_MALFORMED = -2147483648   # scan_for_availability: the first frame cannot be stepped over
    GAP_MALFORMED = -1                  # scan_for_gap, as the gap's length: a frame that cannot be stepped over, and no gap

# Bytes of whole committed frames from offset, at most max_length, for one datagram. *padding gets the bytes of padding that follow a
# PAD header, which is itself counted in the result (32). Negative: the first frame alone is longer than max_length (its length, negated),
# or AVAILABLE_MALFORMED. Aeron: TermScanner.
cdef int32_t scan_for_availability(const uint8_t* term, int32_t term_length, int32_t offset, int32_t max_length, int32_t* padding) noexcept nogil

# A contiguous run of committed frames from offset up to limit_offset, ending before or after a padding frame (a padding frame only
# alone, as the first). Returns the offset after the run. Aeron: TermBlockScanner.
cdef int32_t scan_block(const uint8_t* term, int32_t term_length, int32_t offset, int32_t limit_offset) noexcept nogil

# Scan rebuilt data from offset to limit_offset for a hole. Returns the offset where the hole begins (>= limit_offset when none) and, when
# there is one, sets *gap_length to its bytes, of which only about gap_max are looked at: a peer that sends far ahead must not have a whole
# term walked in each cycle. A frame that cannot be stepped over sets it to GAP_MALFORMED, and its offset is returned. Aeron: TermGapScanner.
cdef int32_t scan_for_gap(const uint8_t* term, int32_t term_length, int32_t offset, int32_t limit_offset, int32_t gap_max,
                          int32_t* gap_length) noexcept nogil

# First offset from `offset` where no frame is committed that can be stepped over, within limit_offset: how far contiguous data reaches.
# *step gets the STEP_ result at that offset where it is before limit_offset.
cdef int32_t scan_contiguous(const uint8_t* term, int32_t term_length, int32_t offset, int32_t limit_offset, int32_t* step) noexcept nogil
