"""Stands where the native `plain_datagrams` module was not built: it finds no simple packets, so that `link_layers` decodes all."""

from __future__ import annotations

import numpy as np

from aerowire.pcap.arrays.blocks import Bytes, Integers, Mask


def find_plain_datagrams(
    buffer: Bytes, starts: Integers, ends: Integers, ethertype_at: int, network_at: int, mark: bytes
) -> tuple[Integers, Integers, Integers, Integers, Bytes, Bytes, Mask, Mask]:
    """Return no datagrams, in the form of the native function."""
    del buffer, starts, ends, ethertype_at, network_at, mark
    nothing, none = np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
    return (
        nothing,
        nothing,
        nothing,
        nothing,
        np.empty((0, 12), dtype=np.uint8),
        np.empty((0, 36), dtype=np.uint8),
        none,
        none,
    )
