"""Chooses the native chain walk where it was built, else the one in Python."""

from __future__ import annotations

try:
    from aerowire.pcap.chain import walk_blocks, walk_records
except ImportError:
    from aerowire.pcap.chain_fallback import walk_blocks, walk_records

__all__ = ["walk_blocks", "walk_records"]
