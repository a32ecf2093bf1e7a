"""Where a driver's directory is when nobody says, and what is in it: the same for driver, client and tools. Aeron: CommonContext."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
CNC_FILE_NAME = "cnc.dat"
LOSS_REPORT_FILE_NAME = "loss-report.dat"
EVENT_LOG_FILE_NAME = "event-log.dat"
LOCK_FILE_NAME = "driver.lock"
PUBLICATIONS_DIRECTORY = "publications"
IMAGES_DIRECTORY = "images"
LOG_SUFFIX = ".logbuffer"

# Stands for a user without a name, such as a container's with a number alone.
_NOBODY_KNOWN = "default"


def default_aeron_dir() -> str:
    """Return `/dev/shm/aeron-<user>` where there is shared memory, else `aeron-<user>` in the directory for temporary files."""
    return str(_parent() / f"aeron-{_user_name()}")


def random_aeron_dir() -> str:
    """Return the path of a directory that no other driver uses."""
    return str(_parent() / f"aeron-{os.getpid()}-{os.urandom(6).hex()}")


def _parent() -> Path:
    if SHARED_MEMORY.is_dir():
        return SHARED_MEMORY
    import tempfile  # with what it imports it takes longer than the rest of a client's start

    return Path(tempfile.gettempdir())


def _user_name() -> str:
    """Return whose directory it is: who USER says, then whom the system knows, then nobody in particular. Aeron: aeron_fileutil.c."""
    name = os.environ.get("USER")
    if name is not None:
        return name
    try:
        return pwd.getpwuid(os.getuid()).pw_name or _NOBODY_KNOWN
    except KeyError:
        return _NOBODY_KNOWN
