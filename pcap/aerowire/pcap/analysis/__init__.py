"""The analysis of streams, in parts: what a part of a capture tells of a stream, and what all its parts together do.

`streams` and `losses` are functions of Spark's data frames, and need pyspark; COLUMNS are those that they look at.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.pcap.analysis.columns import COLUMNS
    from aerowire.pcap.analysis.spark import losses, partials, streams

__all__ = ["COLUMNS", "losses", "partials", "streams"]

HOMES = {"COLUMNS": "columns", "losses": "spark", "partials": "spark", "streams": "spark"}


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
