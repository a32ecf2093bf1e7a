"""Group J: multiple destinations, of senders and of receivers."""

from __future__ import annotations

from aerowire.conformance.model import Case

CASES: tuple[Case, ...] = ()
