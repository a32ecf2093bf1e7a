"""Spark's Python workers: processes that run tasks, one after another."""

from __future__ import annotations

import gc
import sys
from functools import cache

_DAEMON = "pyspark.daemon"  # the module that a worker's process was started with


@cache
def keep_what_is_loaded() -> bool:
    """Hide the objects that a worker has by now from its garbage collector; return False, without effect, in any other process.

    Spark collects garbage after each task of a worker.  With pyspark, NumPy and PyArrow to look through, that takes longer than a small
    task.  Later calls have no effect.
    """
    started_with = getattr(sys.modules["__main__"], "__spec__", None)
    if started_with is None or started_with.name != _DAEMON:
        return False
    gc.freeze()
    return True
