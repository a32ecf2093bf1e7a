"""Every bar by name."""

from __future__ import annotations

from tests.soak import conformance, footprint, fuzz, kill9, million_lossy, spec_change, speed
from tests.soak.bars import Bar

BARS: dict[str, Bar] = {
    "million-lossy": million_lossy.parts,
    "kill9": kill9.parts,
    "fuzz10k": fuzz.parts,
    "conformance": conformance.parts,
    "speed": speed.parts,
    "footprint": footprint.parts,
    "spec-change": spec_change.parts,
}
