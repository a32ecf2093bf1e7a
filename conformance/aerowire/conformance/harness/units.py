"""Reads durations and sizes as Aeron's options write them."""

from __future__ import annotations

import re

NANOS = {"": 1, "ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_DURATION = re.compile(r"(\d+)(ns|us|ms|s)?")


def parse_duration_ns(text: str) -> int:
    """Return the nanoseconds of `5s`, `200ms`, `1us` or a plain number of nanoseconds. Raises ValueError."""
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError(f"{text!r} is not a duration; expected a number followed by ns, us, ms or s")
    return int(found.group(1)) * NANOS[found.group(2) or ""]
