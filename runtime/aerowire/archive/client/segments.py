"""Where the segment files of a recording begin. Aeron: AeronArchive.segmentFileBasePosition."""

from __future__ import annotations


def segment_file_base_position(start_position: int, position: int, term_buffer_length: int, segment_file_length: int) -> int:
    """Return the position at which the segment file begins that holds `position` of a recording from `start_position`."""
    start_term_base_position = start_position - (start_position & (term_buffer_length - 1))
    length = position - start_term_base_position
    return start_term_base_position + length - (length & (segment_file_length - 1))
