"""Chooses the native chain walk where it was built, else the one in Python."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

try:
    from aerowire.pcap.files.chain import read_records, walk_blocks
except ImportError:
    from aerowire.pcap.files.chain_fallback import read_records, walk_blocks

Headers = npt.NDArray[np.uint32]

__all__ = ["Headers", "read_records", "walk_blocks"]
