"""What the driver says it is, in labels and counters."""

from __future__ import annotations

from importlib import metadata
from typing import Final

# The version of the official driver that this one stands in for, as major, minor and patch bytes: what clients compare.
AERON_VERSION: Final = (1 << 16) | (53 << 8)


def _version() -> str:
    try:
        return metadata.version("aerowire")
    except metadata.PackageNotFoundError:
        return "0.0.0"


DRIVER_VERSION: Final = f"aerowire-{_version()}"
DRIVER_COMMIT: Final = "none"
