"""Random sequences of file operations, the same for any files port, and what they showed: bytes, lengths, names and errnos."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from aerowire.base.errors import FileError
from aerowire.base.file_facts import FileKind
from aerowire.base.file_port import FilePort, OpenFile

NAMES = ("a", "b", "c", "d", "e", "d/a", "d/b", "d/e", "e/a", "d/e/c", "a/b")
OPEN_MAX = 2
OFFSET_MAX = 20_000
LENGTH_MAX = 9_000
Step = tuple[str, tuple[Any, ...]]


def draw_steps(rng: random.Random, count: int) -> Iterator[Step]:
    """Yield calls of a files port by name and arguments; files are named by the turn of their opening."""
    for _ in range(count):
        yield _draw_step(rng)


def _draw_step(rng: random.Random) -> Step:
    name, other, slot = rng.choice(NAMES), rng.choice(NAMES), rng.randrange(OPEN_MAX)
    offset = rng.choice((-1, 0, 1, rng.randrange(OFFSET_MAX), 4096 * rng.randrange(4)))
    length = rng.choice((0, 1, rng.randrange(LENGTH_MAX), 4096, -1 if rng.random() < 0.1 else 7))
    choices: list[tuple[int, Step]] = [
        (8, ("open", (slot, name, rng.random() < 0.8, rng.random() < 0.7, rng.random() < 0.2))),
        (2, ("close", (slot,))),
        (6, ("write", (slot, offset, tuple(rng.randbytes(max(0, length) // pieces) for pieces in (1, 2, 3)[: rng.randrange(1, 4)])))),
        (4, ("read", (slot, offset, max(0, length)))),
        (1, ("truncate", (slot, length))),
        (1, ("preallocate", (slot, length))),
        (1, ("length", (slot,))),
        (1, ("lock", (slot,))),
        (1, ("sync", (slot, rng.random() < 0.5))),
        (3, ("rename", (name, other))),
        (2, ("delete", (name,))),
        (3, ("make_directory", (name,))),
        (1, ("delete_directory", (name,))),
        (1, ("sync_directory", (name,))),
        (1, ("names", (name,))),
        (1, ("facts", (name,))),
    ]
    return rng.choices([step for _, step in choices], [weight for weight, _ in choices])[0]


@dataclass
class Player:
    """Plays steps on a port below a root directory."""

    port: FilePort
    root: str

    def __post_init__(self) -> None:
        self.files: dict[int, OpenFile] = {}

    def play(self, step: Step) -> Any:
        """Do a step; return what it gave, or the class and errno of its error."""
        name, arguments = step
        try:
            return getattr(self, f"_{name}")(*arguments)
        except FileError as error:
            return type(error).__name__, error.errno
        except KeyError:
            return "not open"

    def tree(self) -> dict[str, bytes | None]:
        """Return all that is below the root: the bytes of files, None for directories."""
        found: dict[str, bytes | None] = {}
        waiting = [self.root]
        while waiting:
            directory = waiting.pop()
            for name in self.port.names(directory):
                path = f"{directory}/{name}"
                facts = self.port.facts(path)
                assert facts is not None
                key = str(PurePosixPath(path).relative_to(self.root))
                if facts.kind is FileKind.DIRECTORY:
                    found[key] = None
                    waiting.append(path)
                else:
                    with self.port.open(path) as file:
                        found[key] = file.read(0, facts.length + 1)
        return found

    def close(self) -> None:
        for file in self.files.values():
            file.close()

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def _open(self, slot: int, name: str, writable: bool, create: bool, exclusive: bool) -> str:
        file = self.port.open(self._path(name), writable=writable, create=create, exclusive=exclusive)
        if slot in self.files:
            self.files[slot].close()
        self.files[slot] = file
        return "opened"

    def _close(self, slot: int) -> None:
        self.files.pop(slot).close()

    def _write(self, slot: int, offset: int, pieces: tuple[bytes, ...]) -> int:
        return self.files[slot].write(offset, *pieces)

    def _read(self, slot: int, offset: int, length: int) -> bytes:
        one, other = bytearray(length // 2), bytearray(length - length // 2)
        count = self.files[slot].read_into(offset, one, other)
        return bytes(one + other)[:count]

    def _truncate(self, slot: int, length: int) -> None:
        self.files[slot].truncate(length)

    def _preallocate(self, slot: int, length: int) -> None:
        self.files[slot].preallocate(length)

    def _length(self, slot: int) -> int:
        return self.files[slot].length()

    def _lock(self, slot: int) -> bool:
        return self.files[slot].lock()

    def _sync(self, slot: int, data_only: bool) -> None:
        self.files[slot].sync(data_only=data_only)

    def _rename(self, name: str, other: str) -> None:
        self.port.rename(self._path(name), self._path(other))

    def _delete(self, name: str) -> bool:
        return self.port.delete(self._path(name))

    def _make_directory(self, name: str) -> None:
        self.port.make_directory(self._path(name))

    def _delete_directory(self, name: str) -> bool:
        return self.port.delete_directory(self._path(name))

    def _sync_directory(self, name: str) -> None:
        self.port.sync_directory(self._path(name))

    def _names(self, name: str) -> list[str]:
        return self.port.names(self._path(name))

    def _facts(self, name: str) -> tuple[FileKind, int] | None:
        facts = self.port.facts(self._path(name))
        return None if facts is None else (facts.kind, facts.length)
