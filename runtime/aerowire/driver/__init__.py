"""The media driver: native agents that move data, and the conductor that makes and frees what they work on.

Public names are loaded at first use, so that importing one native module does not import all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.driver.context import Context, ThreadingMode
    from aerowire.driver.media_driver import MediaDriver
    from aerowire.driver.ports import Ports
    from aerowire.driver.spawned import SpawnedDriver

__all__ = ["Context", "MediaDriver", "Ports", "SpawnedDriver", "ThreadingMode"]

_HOMES = {
    "Context": "context",
    "MediaDriver": "media_driver",
    "Ports": "ports",
    "SpawnedDriver": "spawned",
    "ThreadingMode": "context",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
