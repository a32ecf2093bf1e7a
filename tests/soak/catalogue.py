"""Every bar by name."""

from __future__ import annotations

from tests.soak import (
    conformance,
    deaths,
    flow_control,
    footprint,
    fuzz,
    interop_lossy,
    kill9,
    many,
    memory,
    million_lossy,
    pauses,
    pcap_exact,
    planted_faults,
    replay,
    sbe_damage,
    sbe_mutations,
    sbe_native,
    sbe_official,
    sbe_schemas,
    sbe_verdicts,
    spec_change,
    speed,
)
from tests.soak.bars import Bar

BARS: dict[str, Bar] = {
    "million-lossy": million_lossy.parts,
    "kill9": kill9.parts,
    "flow-control": flow_control.parts,
    "deaths": deaths.parts,
    "pauses": pauses.parts,
    "many": many.parts,
    "fuzz": fuzz.parts,
    "conformance": conformance.parts,
    "planted-faults": planted_faults.parts,
    "replay": replay.parts,
    "speed": speed.parts,
    "footprint": footprint.parts,
    "memory": memory.parts,
    "pcap-exact": pcap_exact.parts,
    "interop-lossy": interop_lossy.parts,
    "spec-change": spec_change.parts,
    "sbe-official": sbe_official.parts,
    "sbe-damage": sbe_damage.parts,
    "sbe-native": sbe_native.parts,
    "sbe-mutations": sbe_mutations.parts,
    "sbe-schemas": sbe_schemas.parts,
    "sbe-verdicts": sbe_verdicts.parts,
}
