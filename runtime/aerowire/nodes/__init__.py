"""Nodes: a media driver together with the archive, and later the cluster, that it serves, launched and closed as one.

Public names are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.nodes.archiving_media_driver import ArchivingMediaDriver

__all__ = ["ArchivingMediaDriver"]

_HOMES = {"ArchivingMediaDriver": "aerowire.nodes.archiving_media_driver"}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
