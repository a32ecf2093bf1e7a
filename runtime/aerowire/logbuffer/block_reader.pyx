"""Blocks of a stream's log by position. Aeron: Image.blockPoll, TermBlockScanner.

A position that is no multiple of the frame alignment is rounded down, as everywhere: shared memory may give any.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from aerowire.logbuffer.descriptor cimport compute_frame_offset, compute_limit_offset, compute_term_id, index_by_position
from aerowire.logbuffer.frame cimport STEP_MALFORMED, frame_is_padding, frame_length_acquire, frame_step
from aerowire.logbuffer.log cimport LogBuffers
from aerowire.logbuffer.scan cimport scan_block


cdef int32_t read_block(const LogTerms* log, int64_t position, int64_t limit_position, int32_t length_limit,
                        LogBlock* block) noexcept nogil:
    cdef int32_t offset = compute_frame_offset(position, log.term_length)
    cdef int index = index_by_position(position, log.bits)
    cdef const uint8_t* term = log.terms[index]
    cdef int32_t limit_offset
    block.address = term + offset
    block.position = position
    block.length = 0
    block.term_offset = offset
    block.index = index
    block.term_id = compute_term_id(position, log.bits, log.initial_term_id)
    block.is_padding = False
    block.frame_length = frame_length_acquire(term + offset)
    block.step = frame_step(block.frame_length, log.term_length - offset)
    if block.step <= 0:
        return BLOCK_MALFORMED if block.step == STEP_MALFORMED else BLOCK_NONE
    block.is_padding = frame_is_padding(term + offset)
    if length_limit <= 0 or position >= limit_position or <uint64_t>block.step > <uint64_t>limit_position - <uint64_t>position:
        return BLOCK_NONE
    limit_offset = compute_limit_offset(position, limit_position, offset, log.term_length)
    if length_limit < limit_offset - offset:
        limit_offset = offset + length_limit
    block.length = scan_block(term, log.term_length, offset, limit_offset) - offset
    return block.length


# -- Python face ---------------------------------------------------------------------------------------------------------------------

cdef LogTerms terms_of(LogBuffers logs):
    cdef LogTerms out
    cdef int index
    memset(&out, 0, sizeof(LogTerms))
    for index in range(PARTITION_COUNT):
        out.terms[index] = logs.term_address(index)
    out.term_length = logs.term_length
    out.initial_term_id = logs.initial_term_id
    out.bits = logs.bits
    return out


def block_at(LogBuffers logs not None, int64_t position, int64_t limit_position, int32_t length_limit):
    """Return (bytes, position, term id, is padding) of the block at a position, or 0 or -1: see read_block."""
    cdef LogTerms log = terms_of(logs)
    cdef LogBlock block
    cdef int32_t found = read_block(&log, position, limit_position, length_limit, &block)
    if found <= 0:
        return found
    return (<const char*>block.address)[:block.length], block.position, block.term_id, block.is_padding
