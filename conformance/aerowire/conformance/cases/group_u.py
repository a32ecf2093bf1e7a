"""Group U: iPv6."""

from __future__ import annotations

from aerowire.conformance.model import Case

CASES: tuple[Case, ...] = ()
