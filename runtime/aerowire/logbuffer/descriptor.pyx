"""Python faces of the arithmetic in descriptor.pxd: positions, tails, framed lengths."""

from libc.stdint cimport int32_t, int64_t

BACK_PRESSURED = OFFER_BACK_PRESSURED
NOT_CONNECTED = OFFER_NOT_CONNECTED
ADMIN_ACTION = OFFER_ADMIN_ACTION
CLOSED = OFFER_CLOSED
MAX_POSITION_EXCEEDED = OFFER_MAX_POSITION_EXCEEDED
MESSAGE_TOO_LONG = OFFER_MESSAGE_TOO_LONG
BLOCK_INVALID = OFFER_BLOCK_INVALID


def position_of(int32_t term_id, int32_t term_offset, int32_t term_length, int32_t initial_term_id) -> int:
    """Stream position of an offset in a term; term ids wrap."""
    return compute_position(term_id, term_offset, position_bits_to_shift(term_length), initial_term_id)


def term_id_of(int64_t position, int32_t term_length, int32_t initial_term_id) -> int:
    """Term that a position lies in."""
    return compute_term_id(position, position_bits_to_shift(term_length), initial_term_id)


def term_offset_of(int64_t position, int32_t term_length) -> int:
    """Offset in its term of a position."""
    return compute_term_offset(position, term_length)


def room_at(int64_t position, int32_t term_length) -> int:
    """Bytes from the frame at a position to the end of its term."""
    return term_length - compute_frame_offset(position, term_length)


def partition_of(int64_t position, int32_t term_length) -> int:
    """Partition that a position lies in."""
    return index_by_position(position, position_bits_to_shift(term_length))


def partition_of_term(int32_t initial_term_id, int32_t term_id) -> int:
    """Partition that a term lies in."""
    return index_by_term(initial_term_id, term_id)


def framed_length(int64_t length, int32_t max_payload_length) -> int:
    """Log bytes that a message of `length` takes, headers and alignment included."""
    return compute_framed_length(length, max_payload_length)


def max_position(int32_t term_length) -> int:
    """Last position that a stream may reach."""
    return max_possible_position(term_length)


def pack(int32_t term_id, int32_t term_offset) -> int:
    """Raw tail of a term id and an offset."""
    return pack_tail(term_id, term_offset)


def unpack(int64_t raw_tail, int32_t term_length) -> tuple:
    """(term id, offset clamped to the term) of a raw tail."""
    return tail_term_id(raw_tail), tail_term_offset(raw_tail, term_length)
