"""Every bar by name."""

from __future__ import annotations

from tests.soak import conformance, interop_lossy, planted_faults, replay
from tests.soak.archives import catalog as archive_catalog
from tests.soak.archives import held_lock as archive_held_lock
from tests.soak.archives import hostile as archive_hostile
from tests.soak.archives import kill9 as archive_kill9
from tests.soak.bars import Bar
from tests.soak.captures import damage as pcap_damage
from tests.soak.captures import exact as pcap_exact
from tests.soak.captures import memory as pcap_memory
from tests.soak.captures import splits as pcap_splits
from tests.soak.captures import streaming as pcap_streaming
from tests.soak.clusters import held_lock as cluster_held_lock
from tests.soak.clusters import hostile as cluster_hostile
from tests.soak.clusters import kills as cluster_kills
from tests.soak.fuzzing import fuzz, fuzz_datagrams, fuzz_native, fuzz_planted, hostile_scenes
from tests.soak.sbe import damage as sbe_damage
from tests.soak.sbe import mutations as sbe_mutations
from tests.soak.sbe import native as sbe_native
from tests.soak.sbe import official as sbe_official
from tests.soak.sbe import schemas as sbe_schemas
from tests.soak.sbe import verdicts as sbe_verdicts
from tests.soak.spec import change as spec_change
from tests.soak.transport import (
    deaths,
    flow_control,
    footprint,
    kill9,
    lent_ends,
    many,
    memory,
    million_lossy,
    nak_amplification,
    pauses,
    setup_flood,
    speed,
)
from tests.soak.worlds import (
    planted_archive,
    planted_cluster,
    planted_transport,
    same_world,
    seeds,
    simulated_archive,
    simulated_cluster,
    simulated_disk,
    simulated_machines,
)

BARS: dict[str, Bar] = {
    "million-lossy": million_lossy.parts,
    "kill9": kill9.parts,
    "flow-control": flow_control.parts,
    "deaths": deaths.parts,
    "pauses": pauses.parts,
    "many": many.parts,
    "fuzz": fuzz.parts,
    "fuzz-datagrams": fuzz_datagrams.parts,
    "hostile-scenes": hostile_scenes.parts,
    "setup-flood": setup_flood.parts,
    "nak-amplification": nak_amplification.parts,
    "fuzz-native": fuzz_native.parts,
    "fuzz-planted": fuzz_planted.parts,
    "conformance": conformance.parts,
    "planted-archive": planted_archive.parts,
    "planted-cluster": planted_cluster.parts,
    "planted-faults": planted_faults.parts,
    "planted-transport": planted_transport.parts,
    "replay": replay.parts,
    "speed": speed.parts,
    "footprint": footprint.parts,
    "simulated-disk": simulated_disk.parts,
    "simulated-archive": simulated_archive.parts,
    "simulated-cluster": simulated_cluster.parts,
    "simulated-machines": simulated_machines.parts,
    "seeds": seeds.parts,
    "same-world": same_world.parts,
    "lent-ends": lent_ends.parts,
    "memory": memory.parts,
    "archive-catalog": archive_catalog.parts,
    "archive-hostile": archive_hostile.parts,
    "archive-held-lock": archive_held_lock.parts,
    "archive-kill9": archive_kill9.parts,
    "cluster-held-lock": cluster_held_lock.parts,
    "cluster-hostile": cluster_hostile.parts,
    "cluster-kills": cluster_kills.parts,
    "leader-kills": cluster_kills.leader_parts,
    "pcap-exact": pcap_exact.parts,
    "pcap-splits": pcap_splits.parts,
    "pcap-damage": pcap_damage.parts,
    "pcap-memory": pcap_memory.parts,
    "pcap-streaming": pcap_streaming.parts,
    "interop-lossy": interop_lossy.parts,
    "archive-interop-lossy": interop_lossy.archive_parts,
    "spec-change": spec_change.parts,
    "sbe-official": sbe_official.parts,
    "sbe-damage": sbe_damage.parts,
    "sbe-native": sbe_native.parts,
    "sbe-mutations": sbe_mutations.parts,
    "sbe-schemas": sbe_schemas.parts,
    "sbe-verdicts": sbe_verdicts.parts,
}
