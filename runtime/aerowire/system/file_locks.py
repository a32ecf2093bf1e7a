"""Exclusive locks of open files and directories: they leave nothing behind, and the system releases them when their process ends."""

from __future__ import annotations

import fcntl
import os


def lock(descriptor: int) -> None:
    """Take the lock of what is open. Raises BlockingIOError while another process holds it."""
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def unlock_and_close(descriptor: int) -> None:
    """Release a lock. A process forked meanwhile has the descriptor too: to close it alone would not do."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def is_held(path: str | os.PathLike[str]) -> bool | None:
    """Return whether a process holds the lock of a file; None where nothing can be told: there is no file, or no lock. Waits for none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    else:
        return False
    finally:
        os.close(descriptor)
