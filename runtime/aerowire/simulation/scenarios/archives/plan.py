"""What a scenario of archives is, and the plan that a seed draws from it: the operations of each life, and what befalls it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Self

from aerowire.base.errors import ConfigurationError
from aerowire.simulation.scenarios.draws import Draws
from aerowire.simulation.scenarios.plan import parts_at
from aerowire.simulation.scenarios.ranges import Limits, check_ranges

if TYPE_CHECKING:
    from aerowire.simulation.scenarios.plan import Kept

CHECKSUMS = ("", "org.agrona.checksum.Crc32", "org.agrona.checksum.Crc32c")
SEGMENT_LENGTHS = ("64k", "128k", "256k")
_LIMITS: Mapping[str, Limits] = {"lives": (1, 100), "operations": (1, 1_000)}


class Act(Enum):
    """An operation of the archive's client."""

    RECORD = "record"
    REPLAY_PART = "replay a part"
    REPLAY_BOUNDED = "replay up to a counter"
    LIST = "list"
    TRUNCATE = "truncate"
    PURGE = "purge"
    PURGE_SEGMENTS = "purge segments"
    REPLICATE = "replicate"
    EXTEND_WRONGLY = "extend in the wrong place"
    EXTEND_BY_ANOTHER = "extend by a stream of other parameters"
    DETACH = "detach segments"
    ATTACH = "attach segments"
    DELETE_DETACHED = "delete detached segments"
    SPLIT = "record what follows as another recording"
    MIGRATE = "move segments to another recording"
    COPY = "copy what a source records that may fail"


# Of a whole recording and its front, on one archive and from another.
ACTS = (
    Act.RECORD,
    Act.REPLAY_PART,
    Act.REPLAY_BOUNDED,
    Act.LIST,
    Act.TRUNCATE,
    Act.PURGE,
    Act.PURGE_SEGMENTS,
    Act.REPLICATE,
    Act.EXTEND_WRONGLY,
)
# Of whole segments.
SEGMENT_ACTS = (Act.DETACH, Act.ATTACH, Act.DELETE_DETACHED, Act.SPLIT, Act.MIGRATE)
# Those that change files, and need nothing but the archive.
_CHANGES = {Act.RECORD, Act.TRUNCATE, Act.PURGE, Act.PURGE_SEGMENTS, Act.EXTEND_BY_ANOTHER, *SEGMENT_ACTS}


class Trouble(Enum):
    """Something that befalls an archive in one of its lives. Without a kill or a power failure the life ends in order."""

    FAILING_DISK = "failing disk"
    SLOW_DISK = "slow disk"
    FULL_DISK = "full disk"
    DYING_DISK = "disk that fails for good in the middle of a recording, and is mended"
    PARTITION = "partition"
    KILL = "kill"
    POWER = "power failure"
    COMPACTION = "compaction of the catalog behind it"
    INTERRUPTION = "death in the midst of an operation"


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation in one of the lives. `seed` decides its details."""

    life: int
    act: Act
    seed: int


@dataclass(frozen=True, slots=True)
class Misfortune:
    """What befalls a life. `seed` decides its details, `act` is the operation that is interrupted."""

    life: int
    kind: Trouble
    seed: int
    act: Act | None = None

    def __str__(self) -> str:
        return f"{self.kind.value} in life {self.life}" + ("" if self.act is None else f": {self.act.value}")


@dataclass(frozen=True, slots=True)
class ArchivePlan:
    """All that a seed draws from a scenario of archives. The streams of its parts are its operations."""

    scenario: str
    seed: int
    lives: int
    sync_level: int
    checksum: str
    segment_length: str
    streams: tuple[Operation, ...]
    misfortunes: tuple[Misfortune, ...]
    catalog_capacity: str
    churners: tuple[int, ...] = ()

    @property
    def hosts(self) -> int:
        """How many hosts there are: a second one for the source of copies."""
        return 2 if any(operation.act in {Act.REPLICATE, Act.COPY} for operation in self.streams) else 1

    @property
    def habitual_streams(self) -> tuple[int, ...]:
        """Operations have no habits that could be left out."""
        return ()

    def operations(self, life: int) -> list[Operation]:
        """Return what is done in a life."""
        return [operation for operation in self.streams if operation.life == life]

    def troubles(self, life: int) -> dict[Trouble, Misfortune]:
        """Return what befalls a life."""
        return {misfortune.kind: misfortune for misfortune in self.misfortunes if misfortune.life == life}

    def only(self, kept: Kept) -> Self:
        """Return a plan of those parts that are kept."""
        return replace(self, misfortunes=parts_at(kept.misfortunes, self.misfortunes), streams=parts_at(kept.streams, self.streams))


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveScenario:
    """Ranges and chances that plans of archives are drawn from.

    Each of `lives` has some of `operations`, drawn from `acts`, where one that stands twice is twice as likely. `failing`, `slow`, `full`,
    `dying` and `partition` are the chances of a life to have such a disk or network, `kill` and `power` of its end, `interruption` of the
    archive's death in the midst of a last operation, and `compaction` of one behind it. A catalog is made with `catalog_capacity`. Raises
    ConfigurationError.
    """

    name: str
    about: str
    lives: tuple[int, int] = (2, 4)
    operations: tuple[int, int] = (1, 8)
    acts: tuple[Act, ...] = (Act.RECORD, Act.RECORD, *ACTS)
    sync_levels: tuple[int, ...] = (0, 1, 2)
    checksums: tuple[str, ...] = CHECKSUMS
    segment_lengths: tuple[str, ...] = SEGMENT_LENGTHS
    catalog_capacity: str = "1m"
    failing: float = 0.3
    slow: float = 0.3
    full: float = 0.1
    dying: float = 0.2
    compaction: float = 0.0
    interruption: float = 0.2
    partition: float = 0.2
    kill: float = 0.4
    power: float = 0.4

    def __post_init__(self) -> None:
        check_ranges(self, _LIMITS)
        if self.kill + self.power > 1:
            raise ConfigurationError(
                "a life has one end", where="kill, power", expected="1 together at most", actual=self.kill + self.power
            )
        if not self.acts:
            raise ConfigurationError("a scenario without operations", where="acts", expected="one at least", actual="none")

    def plan(self, seed: int) -> ArchivePlan:
        """Draw the plan of a seed."""
        draws, of_disks = Draws(self.name, seed), Draws(f"dying disks of {self.name}", seed)
        of_tools, of_deaths = Draws(f"tools of {self.name}", seed), Draws(f"deaths of {self.name}", seed)
        lives = draws.whole(*self.lives)
        operations: list[Operation] = []
        misfortunes: list[Misfortune] = []
        for life in range(lives):
            count = draws.whole(*self.operations)
            operations += [Operation(life, draws.one_of(self.acts), draws.seed()) for _ in range(count)]
            misfortunes += [Misfortune(life, kind, draws.seed()) for kind in self._troubles(draws)]
            if of_disks.happens(self.dying):
                misfortunes.append(Misfortune(life, Trouble.DYING_DISK, of_disks.seed()))
            if of_tools.happens(self.compaction):
                misfortunes.append(Misfortune(life, Trouble.COMPACTION, of_tools.seed()))
            if of_deaths.happens(self.interruption) and (changes := [act for act in self.acts if act in _CHANGES]):
                misfortunes.append(Misfortune(life, Trouble.INTERRUPTION, of_deaths.seed(), of_deaths.one_of(changes)))
        return ArchivePlan(
            self.name,
            seed,
            lives,
            draws.one_of(self.sync_levels),
            draws.one_of(self.checksums),
            draws.one_of(self.segment_lengths),
            tuple(operations),
            tuple(misfortunes),
            self.catalog_capacity,
        )

    def _troubles(self, draws: Draws) -> list[Trouble]:
        chances = {
            Trouble.FAILING_DISK: self.failing,
            Trouble.SLOW_DISK: self.slow,
            Trouble.FULL_DISK: self.full,
            Trouble.PARTITION: self.partition,
        }
        found = [kind for kind, chance in chances.items() if draws.happens(chance)]
        end = draws.between(0.0, 1.0)
        if end < self.kill:
            found.append(Trouble.KILL)
        elif end < self.kill + self.power:
            found.append(Trouble.POWER)
        return found
