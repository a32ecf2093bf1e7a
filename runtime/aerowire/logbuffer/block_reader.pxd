# Blocks of a stream's log by position: the reader of clients, recordings and replicas.

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.codecs.native.logbuffer cimport PARTITION_COUNT
from aerowire.logbuffer.log cimport LogBuffers

cdef enum:
    BLOCK_NONE = 0              # nothing is there, or the first frame is longer than asked for
    BLOCK_MALFORMED = -1        # a frame that cannot be stepped over


# Where a log lies. Valid as long as somebody holds its mapping.
cdef struct LogTerms:
    const uint8_t* terms[PARTITION_COUNT]
    int32_t term_length
    int32_t initial_term_id
    int bits                    # position_bits_to_shift


# A run of whole frames of one term, or one frame of padding.
cdef struct LogBlock:
    const uint8_t* address
    int64_t position            # at which it begins
    int32_t length              # with headers and alignment
    int32_t term_offset
    int32_t term_id             # by the position, whatever the frames say
    int index                   # of the term
    int32_t frame_length        # of the first frame; of a malformed one, what it says
    int32_t step                # from the first frame to the next
    bint is_padding


# The terms of mapped logs, which their holder keeps.
cdef LogTerms terms_of(LogBuffers logs)

# Find the block at a position: at most length_limit bytes, and frames that end at limit_position or before. Padding comes alone, whatever its
# length, if it ends there. Returns the length, or a BLOCK_ result. Reads nothing beyond the term, whatever the frames say.
cdef int32_t read_block(const LogTerms* log, int64_t position, int64_t limit_position, int32_t length_limit, LogBlock* block) noexcept nogil
