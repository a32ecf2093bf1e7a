"""One component at a time starts in a directory. The lock is the directory's own: it leaves no file behind, and ends with its process.

Components of other implementations do not know it; what they show is in their cnc or mark file.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.base.errors import AerowireError, StorageError
from aerowire.system import directories, file_locks, files

if TYPE_CHECKING:
    from aerowire.base.ports import ClockPort

_LOOK_S = 0.01
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
def directory_lock(directory: Path, clock: ClockPort, *, owner: DirectoryOwner, timeout_ns: int) -> Iterator[int]:
    """Make the directory and hold it; yields its descriptor.

    Raises the owner's error when another component's start takes too long, StorageError.
    """
    deadline_ns = clock.now_ns() + timeout_ns
    while (descriptor := _try_lock(directory, owner)) is None:
        if clock.now_ns() > deadline_ns:
            raise owner.active_error(
                f"another {owner.name} is being started in the directory",
                where=directory,
                expected=f"the end of its start within {timeout_ns / 1e9:g} s",
                actual="it holds the directory",
                hint=f"stop it, or choose another {owner.option}",
            )
        time.sleep(_LOOK_S)
    try:
        yield descriptor
    finally:
        file_locks.unlock_and_close(descriptor)


def make_directory(directory: Path, owner: DirectoryOwner) -> None:
    """Make a directory and those above it. Raises StorageError."""
    try:
        directories.make_directory(directory, _MODE)
    except OSError as error:
        raise storage_error(directory, error, owner) from None


def _try_lock(directory: Path, owner: DirectoryOwner) -> int | None:
    """Return a descriptor that holds the directory; None while another one holds it, or has just deleted it."""
    make_directory(directory, owner)
    try:
        descriptor = directories.open_directory(directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise storage_error(directory, error, owner) from None
    is_ours = False
    try:
        file_locks.lock(descriptor)
        is_ours = directories.leads_to(directory, descriptor)
    except (BlockingIOError, FileNotFoundError):
        is_ours = False
    except OSError as error:
        raise storage_error(directory, error, owner) from None
    finally:
        if not is_ours:
            files.close(descriptor)
    return descriptor if is_ours else None


def storage_error(directory: Path, error: OSError, owner: DirectoryOwner) -> StorageError:
    """Return what is raised where a component cannot make what belongs in its directory."""
    return StorageError(
        f"the {owner.name} directory cannot be made",
        where=directory,
        expected="a directory that can be written to",
        actual=error.strerror or str(error),
        hint=f"choose another {owner.option}",
    )
