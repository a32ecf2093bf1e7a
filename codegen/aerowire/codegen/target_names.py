"""The names of all targets.  Arguments and their help need no more, and start without any code of a target; `registry` has the targets."""

from __future__ import annotations

TARGETS = ("flyweights", "native", "dtypes", "arrow", "scapy", "tables", "wireshark", "markdown", "json")
# Made only when they are named.
ON_REQUEST = frozenset({"json"})
DEFAULT_TARGETS = tuple(name for name in TARGETS if name not in ON_REQUEST)
