"""The simulated disk is honest: sequences of operations on a real one, kills of a process that writes, and a journal on failing disks."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.simulation.disk import journal
from tests.simulation.disk.journal_lives import live
from tests.simulation.disk.killed_writers import check_killed_writer
from tests.simulation.disk.test_file_ports import compare_sequence
from tests.soak.bars import Part, Size

SEED = 20
SEQUENCES = {Size.FULL: 10_000, Size.SMALL: 300}
KILLS = {Size.FULL: 500, Size.SMALL: 4}
LIVES = {Size.FULL: 20_000, Size.SMALL: 100}
FOLDERS = ("/dev/shm", "/tmp")


def sequences(count: int, _scratch: Path) -> str:
    for number in range(count):
        compare_sequence(SEED + number, FOLDERS[number % 2])
    return f"{count:,} sequences gave the same on {' and '.join(FOLDERS)} as on the simulated disk"


def kills(count: int, scratch: Path) -> str:
    within = sum(check_killed_writer(SEED + number, scratch / str(number)) for number in range(count))
    return f"{count} kills, {within} of them within an operation: the files are among those that the model allows"


def lives(count: int, _scratch: Path) -> str:
    done = sum(live(SEED + number, journal) for number in range(count))
    return f"{count:,} seeds, {done:,} calls of a journal, nothing lost"


def parts(size: Size) -> list[Part]:
    return [
        Part("sequences", SEED, partial(sequences, SEQUENCES[size])),
        Part("kills", SEED, partial(kills, KILLS[size])),
        Part("journal", SEED, partial(lives, LIVES[size])),
    ]
