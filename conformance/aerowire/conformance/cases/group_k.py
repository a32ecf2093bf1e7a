"""Group K: round trip times and congestion control."""

from __future__ import annotations

from aerowire.conformance.model import Case

CASES: tuple[Case, ...] = ()
