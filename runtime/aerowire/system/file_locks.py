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
