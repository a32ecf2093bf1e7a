"""Faults of group T.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from tests.conformance.injector import Fault

FAULTS: tuple[Fault, ...] = ()
