"""What the driver says it is, in labels and counters."""

from __future__ import annotations

from typing import Final

from aerowire.base.version import VERSION

# The version of the official driver that this one stands in for, as major, minor and patch bytes: what clients compare.
AERON_VERSION: Final = (1 << 16) | (53 << 8)
DRIVER_VERSION: Final = f"aerowire-{VERSION}"
DRIVER_COMMIT: Final = "none"
