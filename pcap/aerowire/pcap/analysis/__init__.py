"""The analysis of streams, in parts: what a part of a capture tells of a stream, and what all its parts together do.

`streams` and `losses` are functions of Spark's data frames, and need pyspark; COLUMNS are those that they look at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.pcap.lazy_names import lazy_names

if TYPE_CHECKING:
    from aerowire.pcap.analysis.columns import COLUMNS
    from aerowire.pcap.analysis.spark import losses, partials, streams

__all__ = ["COLUMNS", "losses", "partials", "streams"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "columns": ("COLUMNS",),
        "spark": ("losses", "partials", "streams"),
    },
)
