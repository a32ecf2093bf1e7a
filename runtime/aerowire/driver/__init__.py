"""The media driver: native agents that move data, and the conductor that makes and frees what they work on.

Public names are loaded at first use, so that importing one native module does not import all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.driver.context import Context, ThreadingMode
    from aerowire.driver.media_driver import MediaDriver
    from aerowire.driver.spawned import SpawnedDriver
    from aerowire.system.ports import Ports

__all__ = ["Context", "MediaDriver", "Ports", "SpawnedDriver", "ThreadingMode"]

_HOMES = {
    "Context": "aerowire.driver.context",
    "MediaDriver": "aerowire.driver.media_driver",
    "Ports": "aerowire.system.ports",
    "SpawnedDriver": "aerowire.driver.spawned",
    "ThreadingMode": "aerowire.driver.context",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
