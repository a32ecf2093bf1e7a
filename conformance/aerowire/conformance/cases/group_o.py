"""Group O: frame types of transport security."""

from __future__ import annotations

from aerowire.conformance.model import Case

CASES: tuple[Case, ...] = ()
