"""Positions of a recording, and where they are: in which segment file, in which term. Aeron: AeronArchive.segmentFileBasePosition.

    start of the first term        start position                                 stop position
    |------------------------------|----------------------|----------------------|--------
    |<------- segment file, a whole number of terms ----->|<------- segment file ...

Segments are counted from the start of the term that holds the start position. Lengths are powers of two.
"""

from __future__ import annotations

from aerowire.codecs.flyweights.base import align
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT

_INT32_RANGE, _INT32_HALF = 1 << 32, 1 << 31


def term_base_position(position: int, term_buffer_length: int) -> int:
    """Return where the term begins that holds a position."""
    return position & -term_buffer_length


def segment_base_position(position: int, start_position: int, term_buffer_length: int, segment_file_length: int) -> int:
    """Return where the segment file begins that holds a position of a recording."""
    first = term_base_position(start_position, term_buffer_length)
    return position - (position - first) % max(segment_file_length, term_buffer_length)


def term_id_at(position: int, initial_term_id: int, term_buffer_length: int) -> int:
    """Return the id of the term that holds a position; ids wrap around as 32-bit integers do."""
    return (initial_term_id + position // term_buffer_length + _INT32_HALF) % _INT32_RANGE - _INT32_HALF


def frame_offset_in_segment(segment: int, start_position: int, term_buffer_length: int) -> int:
    """Return the offset of the first frame in the segment file that begins at a position, which may be of a file before the start."""
    return start_position - segment if segment == term_base_position(start_position, term_buffer_length) else 0


def aligned_frame_length(frame_length: int) -> int:
    """Return the bytes that a frame takes in a term, padding to the next frame included."""
    return align(frame_length, FRAME_ALIGNMENT)


def is_frame_aligned(position: int) -> bool:
    """Return whether a frame may begin at a position."""
    return position % FRAME_ALIGNMENT == 0
