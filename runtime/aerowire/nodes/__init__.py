"""Nodes: a media driver together with the archive and the member of a cluster that it serves, launched and closed as one.

Public names are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from aerowire.nodes.archiving_media_driver import ArchivingMediaDriver
    from aerowire.nodes.clustered_media_driver import ClusteredMediaDriver

__all__ = ["ArchivingMediaDriver", "ClusteredMediaDriver"]

_MODULES = {
    "aerowire.nodes.archiving_media_driver": ("ArchivingMediaDriver",),
    "aerowire.nodes.clustered_media_driver": ("ClusteredMediaDriver",),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
