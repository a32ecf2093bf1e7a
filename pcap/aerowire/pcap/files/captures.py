"""Captures of any format as blocks of packets."""

from __future__ import annotations

from collections.abc import Iterator

from aerowire.pcap.arrays.blocks import PacketBlock
from aerowire.pcap.files import classic, pcapng
from aerowire.pcap.files.places import Extent
from aerowire.pcap.files.source import CHUNK_LENGTH, CaptureFile
from aerowire.pcap.statistics import Statistics


def packet_blocks(
    file: CaptureFile, statistics: Statistics, *, extent: Extent | None = None, fail_fast: bool = False, chunk_length: int = CHUNK_LENGTH
) -> Iterator[PacketBlock]:
    """Return the packets of a capture, or of an extent of one that is not compressed; damage is counted, or raises with `fail_fast`."""
    if file.header is None:
        return pcapng.read_blocks(file, statistics, extent=extent, fail_fast=fail_fast, chunk_length=chunk_length)
    return classic.read_blocks(file, file.header, statistics, extent=extent, fail_fast=fail_fast, chunk_length=chunk_length)
