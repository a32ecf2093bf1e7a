"""What may go wrong with a simulated disk, and how long it takes."""

from __future__ import annotations

from dataclasses import dataclass

from aerowire.base.errors import ConfigurationError

SECTORS = (512, 4096)
LIMITS = ("damage_max", "latency_ns", "jitter_ns", "slow_one_in", "slow_ns")
RATES = ("read_error", "write_error", "sync_error", "short_read", "short_write", "writeback", "misdirected_write", "bit_flip")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFaults:
    """Chances, from 0 to 1 of each operation, and times in nanoseconds. Without arguments nothing goes wrong.

    `read_error`, `write_error` and `sync_error` end the operation with EIO; a write may have been done in part, and a failed sync loses
    what it does not happen to have written. `short_read` and `short_write` do a part of what was asked for, and say so. `writeback` is the
    chance of each dirty page, at each write to its file, to be on the disk before any sync. `misdirected_write` puts a synced page
    somewhere else, and `bit_flip` changes one bit of it: nothing tells of these two. There are `damage_max` of them at most.

    When the power fails a page that was not synced may be torn into sectors of `sector` bytes, 512 or 4,096.

    An operation that is begun takes `latency_ns`, and up to `jitter_ns` more; one in `slow_one_in` takes `slow_ns` (0: none does).
    """

    read_error: float = 0.0
    write_error: float = 0.0
    sync_error: float = 0.0
    short_read: float = 0.0
    short_write: float = 0.0
    writeback: float = 0.0
    misdirected_write: float = 0.0
    bit_flip: float = 0.0
    damage_max: int = 0
    sector: int = 512
    latency_ns: int = 0
    jitter_ns: int = 0
    slow_one_in: int = 0
    slow_ns: int = 0

    def __post_init__(self) -> None:
        for name in RATES:
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigurationError("a fault has an impossible chance", where=name, expected="0 to 1", actual=getattr(self, name))
        if self.sector not in SECTORS:
            raise ConfigurationError("a disk has no such sectors", where="sector", expected=SECTORS, actual=self.sector)
        for name in LIMITS:
            if getattr(self, name) < 0:
                raise ConfigurationError("a fault has a negative limit", where=name, expected=">= 0", actual=getattr(self, name))
