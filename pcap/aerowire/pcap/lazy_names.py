"""Public names of a package that are loaded at first use, so that an import of one of its modules does not import all.

The runtime has the same in `aerowire.base`, which this package does not need.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence

from aerowire.pcap.extras import EXTRAS, missing_package


def lazy_names(package: str, modules: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose public names stand in `modules`: each of its modules with its names."""
    homes = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(importlib.import_module(f"{package}.{home}"), name)
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            raise missing_package(error) from None

    def listing() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return load, listing
