"""A process that writes to a real disk and is killed: what it leaves is what the simulated disk says that it may.

`python -m tests.simulation.disk.killed_writers FOLDER SEED` is that process. It says after each operation that it is done.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from aerowire.system.file_system import FileSystem
from tests.simulation.disk.ports import disk_of
from tests.support.file_sequences import Player, Step
from tests.support.processes import ROOT

PAGE = 4096
WRITE_MAX = 4 << 20
STEPS_MAX = 100
DELAY_MAX = 8 << 20
FILES = ("a", "b", "c")


def draw_steps(seed: int) -> Iterator[Step]:
    """Yield writes that take long, and some other operations, without end."""
    rng = random.Random(seed)
    octets = memoryview(rng.randbytes(2 * WRITE_MAX))  # what is written is a part of these: the process writes most of its time
    yield from (("open", (slot, name, True, True, False)) for slot, name in enumerate(FILES))
    while True:
        slot = rng.randrange(len(FILES))
        if rng.random() < 0.7:
            start = rng.randrange(WRITE_MAX)
            yield "write", (slot, rng.randrange(WRITE_MAX), (octets[start : start + rng.randrange(1, WRITE_MAX)],))
        elif rng.random() < 0.5:
            yield "truncate", (slot, rng.randrange(WRITE_MAX))
        else:
            yield "rename", (rng.choice(FILES), rng.choice(FILES))


def check_killed_writer(seed: int, folder: Path) -> bool:
    """Let it write, kill it somewhere, and compare; return whether an operation was under way."""
    folder.mkdir()
    rng = random.Random(f"{seed} kill")
    command = [sys.executable, "-m", "tests.simulation.disk.killed_writers", str(folder), str(seed)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        done = 0
        for _ in range(rng.randrange(4, STEPS_MAX)):
            done += process.stdout.read(1) == b"."
        rng.randbytes(rng.randrange(DELAY_MAX))  # takes up to some milliseconds
        process.kill()
        done += process.stdout.read().count(b".")
    assert process.returncode == -signal.SIGKILL, f"seed {seed}: the writer ended by itself with {process.returncode}"
    return _is_partial(seed, done, Player(FileSystem(), str(folder)).tree())


def _is_partial(seed: int, done: int, found: dict[str, bytes | None]) -> bool:
    """Return whether the step after those that were done has left something. AssertionError where the model disagrees."""
    files = disk_of(seed)[1]
    files.make_directory("/root")
    model = Player(files, "/root")
    steps = draw_steps(seed)
    for step in islice(steps, done):
        model.play(step)
    if model.tree() == found:
        return False
    name, arguments = next(steps)
    if name == "write":
        slot, offset, (octets,) = arguments
        # The part that was written: the model allows any.
        for length in [*range(PAGE - offset % PAGE, len(octets), PAGE), len(octets)]:
            model.play(("write", (slot, offset, (octets[:length],))))
            if model.tree() == found:
                return True
    else:
        model.play((name, arguments))
    assert model.tree() == found, f"seed {seed}: after {done} operations, in the midst of {name}"
    return True


def main() -> None:
    folder, seed = sys.argv[1:]
    player = Player(FileSystem(), folder)
    for step in draw_steps(int(seed)):
        player.play(step)
        print(end=".", flush=True)


if __name__ == "__main__":
    main()
