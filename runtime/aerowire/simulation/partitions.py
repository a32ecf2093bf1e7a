"""Which hosts cannot reach each other for a while: as given, or drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from aerowire.base.arguments import wrong_type
from aerowire.base.errors import ConfigurationError

if TYPE_CHECKING:
    from aerowire.base.ports import RandomPort


@dataclass(frozen=True, slots=True)
class Partition:
    """Two sides by the addresses of their hosts: no packet goes from `sources` to `destinations`, nor back unless `one_way`.

    Invariant: no host is on both sides. A partition with an empty side cuts nothing.
    """

    sources: tuple[str, ...]
    destinations: tuple[str, ...]
    one_way: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("sources", "destinations"):
            side = getattr(self, name)
            if not isinstance(side, tuple):
                raise wrong_type(name, side, "a tuple of addresses", "Partition")
        if common := sorted(set(self.sources) & set(self.destinations)):
            raise ConfigurationError(
                "a host is on both sides", where="Partition", expected="each host on one side", actual=", ".join(common)
            )

    @property
    def cuts(self) -> tuple[tuple[str, str], ...]:
        """Source and destination of every link that is cut."""
        there = tuple((source, destination) for source in self.sources for destination in self.destinations)
        return there if self.one_way else there + tuple((destination, source) for source, destination in there)


class PartitionKind(Enum):
    """The partitions that can be drawn."""

    NONE = "none"
    HALVES = "halves"
    ONE_ISOLATED = "one isolated"
    BUSIEST_ISOLATED = "busiest isolated"


def draw_partition(
    kind: PartitionKind, hosts: Sequence[str], random: RandomPort, *, busiest: str | None = None, one_way: bool = False
) -> Partition:
    """Return a partition of `hosts`, `busiest` among them; a `one_way` one cuts the way to one side or the other, as drawn.

    With fewer than two hosts, or of the kind NONE, it cuts nothing.
    """
    if kind is PartitionKind.NONE or len(hosts) < 2:
        return Partition((), ())
    if kind is PartitionKind.HALVES:
        first = _shuffled(hosts, random)[: len(hosts) // 2]
    elif kind is PartitionKind.BUSIEST_ISOLATED and busiest is not None:
        first = [busiest]
    else:
        first = [hosts[random.below(len(hosts))]]
    sources, destinations = tuple(host for host in hosts if host in first), tuple(host for host in hosts if host not in first)
    if one_way and random.below(2):
        sources, destinations = destinations, sources
    return Partition(sources, destinations, one_way=one_way)


def _shuffled(hosts: Sequence[str], random: RandomPort) -> list[str]:
    shuffled = list(hosts)
    for last in range(len(shuffled) - 1, 0, -1):
        other = random.below(last + 1)
        shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
    return shuffled
