"""How much memory this process has allocated, where a sanitizer keeps what was freed for a while."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable

from tests.soak.transport.footprint import anonymous_bytes

_allocated: Callable[[], int] | None = None
with contextlib.suppress(AttributeError):
    _native = ctypes.CDLL(None).__sanitizer_get_current_allocated_bytes
    _native.restype = ctypes.c_size_t
    _allocated = _native


def allocated_bytes() -> int:
    """Return the bytes that are allocated and not freed, by the sanitizer's count; without one, the process's anonymous memory.

    A sanitizer's own memory (what was freed and waits, the stacks of allocations) still grows after hours by some MiB.
    """
    return anonymous_bytes(os.getpid()) if _allocated is None else _allocated()
