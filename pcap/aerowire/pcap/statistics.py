"""Counts of what a reader saw and what it left out, and why.  Additive, so that chunks, splits and files sum up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Statistics:
    """What became of a capture's packets.

    Invariant after a whole read: packets == datagrams + sum(skipped.values()), where datagrams counts those whose frames are in the result.
    """

    packets: int = 0
    captured_bytes: int = 0
    datagrams: int = 0
    frames: int = 0
    truncated_datagrams: int = 0  # captured in part; frames whose header was captured are in the result
    reassembled_datagrams: int = 0  # that came as several IP fragments; each counts as the packet that completed it
    reassembled_fragments: int = 0  # that they came in; the others of the reason "IP fragment" never made a datagram
    corrupt_records: int = 0  # places where the chain of records broke
    corrupt_bytes: int = 0  # bytes passed over to find the chain again
    truncated_bytes: int = 0  # bytes of an incomplete record at the end of the file
    skipped: Counter[str] = field(default_factory=Counter)

    def skip(self, reason: str, count: int = 1) -> None:
        """Count packets left out for `reason`."""
        if count:
            self.skipped[reason] += int(count)

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Statistics:
        """Return statistics from counts by name, as Spark's source gives them: those of `skipped` begin with that word."""
        statistics = cls()
        for name, count in counts.items():
            if name.startswith(SKIPPED):
                statistics.skip(name.removeprefix(SKIPPED), count)
            elif name in ADDED:
                setattr(statistics, name, count)
        return statistics

    @property
    def is_damaged(self) -> bool:
        """Whether the file itself was cut short or corrupt somewhere."""
        return bool(self.corrupt_records or self.truncated_bytes)

    def add(self, others: Iterable[Statistics]) -> Statistics:
        """Add the counts of `others` to these and return self."""
        for other in others:
            for name in ADDED:
                setattr(self, name, getattr(self, name) + getattr(other, name))
            self.skipped.update(other.skipped)
        return self

    def to_dict(self) -> dict[str, int | dict[str, int]]:
        """Return plain values for JSON; reasons in alphabetic order."""
        return {**{name: getattr(self, name) for name in ADDED}, "skipped": dict(sorted(self.skipped.items()))}


ADDED = (
    "packets",
    "captured_bytes",
    "datagrams",
    "frames",
    "truncated_datagrams",
    "reassembled_datagrams",
    "reassembled_fragments",
    "corrupt_records",
    "corrupt_bytes",
    "truncated_bytes",
)
SKIPPED = "skipped: "
