"""Group Q: errors and rejected images."""

from __future__ import annotations

from aerowire.conformance.model import Case

CASES: tuple[Case, ...] = ()
