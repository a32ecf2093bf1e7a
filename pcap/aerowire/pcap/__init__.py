"""Packet captures of Aeron traffic: readers, analysis, and a data source for Spark.

`read_frames("capture.pcap")` returns an Arrow table, one row a frame.
"""

from __future__ import annotations

from aerowire.pcap.capture import Capture, read_frames
from aerowire.pcap.errors import CaptureError
from aerowire.pcap.statistics import Statistics

__all__ = ["Capture", "CaptureError", "Statistics", "read_frames"]
