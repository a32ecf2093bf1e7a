"""Versions of an application on the members of a cluster, and which of them may work on one log. Aeron: AppVersionValidator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from aerowire.recordings.versions import compose_version, major_version

# Whether an application of the first version can go on from a log or a snapshot of the second.
AppVersionValidator = Callable[[int, int], bool]

DEFAULT_APP_VERSION: Final = compose_version(0, 0, 1)


def has_same_major_version(ours: int, theirs: int) -> bool:
    """Return whether the major versions are equal, as semantic versioning asks for."""
    return major_version(ours) == major_version(theirs)
