"""What is wrong with a log of records that somebody else wrote. Knows nothing of the records."""

from __future__ import annotations

from typing import NamedTuple

# The last moment, in ms since 1970, that a record may name: that of a calendar's year 9999.
TIMESTAMP_MAX_MS = 253_402_300_799_999


class Damage(NamedTuple):
    """Where a log stops making sense: `field` of the record at `offset` is `actual`; what stands before it can be read."""

    offset: int
    field: str
    expected: str
    actual: int
