"""One component at a time starts in a directory. The lock is the directory's own: it leaves no file behind, and ends with its process.

Components of other implementations do not know it; what they show is in their cnc or mark file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.base.errors import AerowireError, FileError, StorageError
from aerowire.base.file_trees import make_directories

if TYPE_CHECKING:
    from aerowire.base.file_facts import HeldDirectory
    from aerowire.base.file_port import FilePort
    from aerowire.system.ports import Ports

_LOOK_NS = 10_000_000
# Less what the umask takes. Clients write to files and make none, so that only the component's own user needs to write to its directories.
_MODE = 0o755


@dataclass(frozen=True, slots=True)
class DirectoryOwner:
    """The kind of component that a directory belongs to, in errors: what it is called, the option that names its directory."""

    name: str
    option: str
    # Raised where another component of the kind is in the directory.
    active_error: type[AerowireError]


@contextmanager
def directory_lock(directory: Path, ports: Ports, *, owner: DirectoryOwner, timeout_ns: int) -> Iterator[HeldDirectory]:
    """Make the directory and hold it; yields it.

    Raises the owner's error when another component's start takes too long, StorageError.
    """
    deadline_ns = ports.clock.now_ns() + timeout_ns
    while (held := _try_lock(directory, ports.files, owner)) is None:
        if ports.clock.now_ns() > deadline_ns:
            raise owner.active_error(
                f"another {owner.name} is being started in the directory",
                where=directory,
                expected=f"the end of its start within {timeout_ns / 1e9:g} s",
                actual="it holds the directory",
                hint=f"stop it, or choose another {owner.option}",
            )
        ports.waiting.sleep(_LOOK_NS)
    try:
        yield held
    finally:
        held.release()


def make_directory(directory: Path, files: FilePort, owner: DirectoryOwner) -> None:
    """Make a directory and those above it. Raises StorageError."""
    try:
        make_directories(files, directory, _MODE)
    except FileError as error:
        raise storage_error(directory, error, owner) from None


def _try_lock(directory: Path, files: FilePort, owner: DirectoryOwner) -> HeldDirectory | None:
    """Return the directory, held; None while another one holds it, or has just deleted it."""
    make_directory(directory, files, owner)
    try:
        return files.hold_directory(directory)
    except FileError as error:
        raise storage_error(directory, error, owner) from None


def storage_error(directory: Path, error: FileError, owner: DirectoryOwner) -> StorageError:
    """Return what is raised where a component cannot make what belongs in its directory."""
    return StorageError(
        f"the {owner.name} directory cannot be made",
        where=directory,
        expected="a directory that can be written to",
        actual=error.actual,
        hint=f"choose another {owner.option}",
    )
