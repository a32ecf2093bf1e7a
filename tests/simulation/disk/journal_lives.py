"""The lives of a journal on a disk that fails: what it has to keep, checked each time that it is opened."""

from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass, field
from typing import Any

from aerowire.simulation.disk.disk import SimulatedDisk
from aerowire.simulation.disk.disk_faults import DiskFaults
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from aerowire.system.clock import ManualClock

LIVES = 12
CALLS_MAX = 30
ENTRY_MAX = 6_000
DIRECTORY = "/journal"


class ViolationError(AssertionError):
    """The journal lost, changed or invented an entry."""


@dataclass
class Kept:
    """What a journal has to have: entries from a number on, and what the call that was under way would make of it."""

    first: int = 0
    entries: list[bytes] = field(default_factory=list)
    trimmed_to: int | None = None
    appended: bytes | None = None

    def check(self, journal: Any, seed: int) -> None:
        """Raise ViolationError unless the journal has it; take what it has as what it has to have from now on."""
        lists = [(self.first, self.entries)]
        if self.trimmed_to is not None:
            lists.append((self.trimmed_to, self.entries[self.trimmed_to - self.first :]))
        if self.appended is not None:
            lists.append((self.first, [*self.entries, self.appended]))
        if (journal.first, journal.entries) not in lists:
            expected = " or ".join(f"{first} to {first + len(entries)}" for first, entries in lists)
            found = f"{journal.first} to {journal.first + len(journal.entries)}"
            raise ViolationError(f"seed {seed}: the journal has entries {found}; expected {expected}")
        self.first, self.entries = journal.first, list(journal.entries)
        self.trimmed_to = self.appended = None


def draw_faults(rng: random.Random) -> DiskFaults:
    """Draw errors of up to a tenth of all operations. The journal is the only copy of its entries, so what is synced is not damaged."""
    return DiskFaults(
        read_error=rng.choice((0.0, 0.1 * rng.random())),
        write_error=rng.choice((0.0, 0.1 * rng.random())),
        sync_error=rng.choice((0.0, 0.1 * rng.random())),
        short_read=rng.choice((0.0, 0.3)),
        short_write=rng.choice((0.0, 0.3)),
        writeback=rng.choice((0.0, 0.3)),
        sector=rng.choice((512, 4096)),
    )


def live(seed: int, module: Any) -> int:
    """Let the journal of a module live, fail and be opened again. Return how many calls succeeded; raise ViolationError.

    Each life ends with the power or with the process, in the midst of any operation. All follows from the seed.
    """
    rng = random.Random(seed)
    clock = ManualClock(now_ns=1)
    disk = SimulatedDisk(clock, seed=seed)
    files = SimulatedFiles(disk)
    files.make_directory(DIRECTORY)
    files.sync_directory("/")
    files.close()
    kept = Kept()
    done = 0
    for _ in range(LIVES):
        disk.faults = draw_faults(rng)
        files = SimulatedFiles(disk)
        files.kill_after(rng.randrange(1, 120))
        with contextlib.suppress(module.JournalFailedError):
            done += _live_once(rng, _opened(files, module, kept, seed), kept, module)
        if rng.random() < 0.6:
            disk.lose_power()
        else:
            files.kill()
    disk.faults = DiskFaults()
    _opened(SimulatedFiles(disk), module, kept, seed)
    return done


def _opened(files: SimulatedFiles, module: Any, kept: Kept, seed: int) -> Any:
    try:
        journal = module.Journal(files, DIRECTORY)
    except module.JournalDamagedError as error:
        raise ViolationError(f"seed {seed}: {error}") from error
    kept.check(journal, seed)
    return journal


def _live_once(rng: random.Random, journal: Any, kept: Kept, module: Any) -> int:
    done = 0
    with contextlib.suppress(module.JournalFailedError):
        for _ in range(rng.randrange(CALLS_MAX)):
            if kept.entries and rng.random() < 0.15:
                count = rng.randrange(1, len(kept.entries) + 1)
                kept.trimmed_to = kept.first + count
                journal.trim(count)
                kept.first, kept.trimmed_to = kept.trimmed_to, None
                del kept.entries[:count]
            else:
                kept.appended = rng.randbytes(rng.randrange(1, ENTRY_MAX) if rng.random() < 0.5 else 20)
                journal.append(kept.appended)
                kept.entries.append(kept.appended)
                kept.appended = None
            done += 1
        journal.close()
    return done
