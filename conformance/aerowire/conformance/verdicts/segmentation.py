"""Datagrams that were captured before the kernel or the card cut them: senders may hand over several in one call (UDP_SEGMENT)."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import DataHeaderDecoder
from aerowire.conformance.harness.ring import align


def segments(payload: bytes, mtu: int) -> list[bytes]:
    """Return the datagrams of data that a captured one stands for: itself, or pieces of one size, the last of which may be shorter.

    Each piece holds whole frames and no more bytes than the MTU. What cannot be cut so is returned as it is.
    """
    if len(payload) <= mtu:
        return [payload]
    borders = frame_borders(payload)
    for size in sorted((border for border in borders if border <= mtu), reverse=True):
        cuts = range(size, len(payload), size)
        if borders.issuperset(cuts):
            return [payload[at : at + size] for at in (0, *cuts)]
    return [payload]


def frame_borders(payload: bytes) -> set[int]:
    """Return the offsets in a datagram of data where a frame ends."""
    borders: set[int] = set()
    offset = 0
    while offset + DataHeaderDecoder.ENCODED_LENGTH <= len(payload):
        length = DataHeaderDecoder(payload, offset).frame_length
        if length <= 0:
            break
        offset += align(length, DataHeaderDecoder.ALIGNMENT)
        borders.add(offset)
    return borders
