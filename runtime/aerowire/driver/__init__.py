"""The media driver: native agents that move data, and the conductor that makes and frees what they work on.

Public names are loaded at first use, so that importing one native module does not import all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from aerowire.driver.context import Context, ThreadingMode
    from aerowire.driver.media_driver import MediaDriver
    from aerowire.driver.spawned import SpawnedDriver
    from aerowire.system.ports import Ports

__all__ = ["Context", "MediaDriver", "Ports", "SpawnedDriver", "ThreadingMode"]

_MODULES = {
    "aerowire.driver.context": ("Context", "ThreadingMode"),
    "aerowire.driver.media_driver": ("MediaDriver",),
    "aerowire.driver.spawned": ("SpawnedDriver",),
    "aerowire.system.ports": ("Ports",),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
