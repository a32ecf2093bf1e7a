# Recorded frames that are to be sent again: what of them may be, and what is wrong with the rest.

from libc.stdint cimport int32_t, int64_t, uint8_t

# What frames have to be, and what they become.
cdef struct ReplayStream:
    int32_t term_length
    int32_t initial_term_id
    int bits                    # position_bits_to_shift
    int32_t stream_id           # as recorded
    int32_t frame_length_max    # of data
    int32_t checksum_kind       # of data frames, in place of their session id
    int32_t new_session_id
    int32_t new_stream_id

# What stands at the beginning of some bytes of a recording.
cdef struct FrameRun:
    int32_t length              # of whole data frames, which are the new stream's now
    int32_t padding             # the frame length of the padding behind them, or 0
    int32_t fault               # of the frame behind them, a FRAME_FAULT_ code
    int32_t fault_offset        # of that frame
    int64_t expected
    int64_t found

# Look at `length` bytes that were recorded at `position`, within one term. Frames that begin at `limit_position` or later are left aside,
# and so is the first that ends behind `end_position`: it has a fault if that is the end of the recording, else it is not there yet.
cdef void prepare_frames(uint8_t* bytes, int32_t length, const ReplayStream* stream, int64_t position, int64_t limit_position,
                         int64_t end_position, bint is_end_of_recording, FrameRun* run) noexcept nogil
