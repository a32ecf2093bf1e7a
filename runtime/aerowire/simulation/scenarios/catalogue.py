"""The scenarios, by name: those of transport, of archives and of clusters."""

from __future__ import annotations

from typing import Any, TypeAlias

from aerowire.simulation.scenarios.archives.plan import CHECKSUMS, SEGMENT_ACTS, Act, ArchivePlan, ArchiveScenario
from aerowire.simulation.scenarios.clusters.plan import PRIORITY_HEAP, WHEEL, ClusterPlan, ClusterScenario, Habits, Trouble
from aerowire.simulation.scenarios.clusters.requests import Operation
from aerowire.simulation.scenarios.plan import CRASHES, Kind, Plan, Scenario

AnyScenario: TypeAlias = Scenario | ArchiveScenario | ClusterScenario
AnyPlan: TypeAlias = Plan | ArchivePlan | ClusterPlan

EVERYTHING = tuple(Kind)
# Of all of them: subscribers of different pace, claims that are held, publishers that end in good order, resources that come and go.
HABITS: dict[str, Any] = {"readers": (1, 3), "poll_ms": (20.0, 300.0), "hold": 0.3, "end": 0.3, "churn": 0.3}
SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(name="quiet", about="no faults at all: what makes no progress here is broken by itself", **HABITS),
        Scenario(
            name="mild",
            about="a little loss and delay, and now and then a misfortune that does not kill",
            loss=(0.0, 0.02),
            reorder=(0.0, 0.02),
            latency_ms=(0.01, 2.0),
            jitter_ms=(0.0, 1.0),
            misfortune_s=(5.0, 20.0),
            kinds=(Kind.PAUSE, Kind.SLOW, Kind.CLOG, Kind.CLOCK_DRIFT),
            **HABITS,
        ),
        Scenario(
            name="partitions",
            about="networks that fall apart and heal, and clocks that are set",
            loss=(0.0, 0.1),
            latency_ms=(0.01, 5.0),
            jitter_ms=(0.0, 5.0),
            misfortune_s=(1.0, 6.0),
            kinds=(Kind.PARTITION, Kind.CLOG, Kind.CLOCK_JUMP, Kind.CLOCK_DRIFT),
            **HABITS,
        ),
        Scenario(
            name="crashes",
            about="clients and drivers that are killed, and hosts that lose power, while others go on",
            loss=(0.0, 0.05),
            jitter_ms=(0.0, 2.0),
            misfortune_s=(1.0, 6.0),
            crash=0.9,
            kinds=(*CRASHES, Kind.PAUSE),
            **HABITS,
        ),
        Scenario(
            name="rough",
            about="as bad as a network and its machines may be, all at once",
            rate=(1, 20),
            length_max=(1, 1500),
            loss=(0.0, 0.3),
            duplicate=(0.0, 0.1),
            replay=(0.0, 0.5),
            reorder=(0.0, 0.2),
            jitter_ms=(30.0, 100.0),
            queue_length=(2, 20),
            send_error=(0.0, 0.05),
            misfortune_s=(1.0, 8.0),
            crash=0.4,
            kinds=EVERYTHING,
            **HABITS,
        ),
    )
}
ARCHIVE_SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        ArchiveScenario(
            name="archives",
            about="an archive that records, replays and copies, on disks that fail, is killed, loses power and starts again",
        ),
        ArchiveScenario(
            name="segments",
            about="an archive whose segments are detached, attached, deleted and moved, with a catalog that grows and is compacted",
            acts=(
                *3 * (Act.RECORD,),
                *(Act.TRUNCATE, Act.PURGE, Act.PURGE_SEGMENTS, Act.EXTEND_BY_ANOTHER),
                *2 * SEGMENT_ACTS,
                *(Act.SPLIT, Act.MIGRATE, Act.MIGRATE),
            ),
            operations=(4, 12),
            segment_lengths=("64k",),
            catalog_capacity="1k",
            partition=0.0,
            compaction=0.3,
            interruption=0.5,
        ),
        ArchiveScenario(
            name="copies",
            about="an archive that copies what another one records, which is killed, loses power, or is cut off meanwhile",
            acts=(*6 * (Act.COPY,), Act.RECORD, Act.TRUNCATE, Act.PURGE, Act.PURGE_SEGMENTS, Act.REPLAY_PART),
            operations=(2, 6),
            checksums=CHECKSUMS[1:],  # else a torn frame of the source is copied
            partition=0.0,
        ),
    )
}
CLUSTER_SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        ClusterScenario(
            name="clusters",
            about="one, two, three or five nodes that elect, commit and apply, while processes, hosts and networks fail",
            sizes=(1, 2, 3, 3, 5),
            services=(1, 1, 2),
            loss=(0.0, 0.05),
            duplicate=(0.0, 0.02),
            reorder=(0.0, 0.05),
            latency_ms=(0.01, 2.0),
            jitter_ms=(0.0, 1.0),
            kinds=(*2 * (Trouble.KILL_PROCESS, Trouble.KILL_NODE, Trouble.PARTITION, Trouble.ISOLATION, Trouble.SNAPSHOT), *Trouble),
        ),
        ClusterScenario(
            name="sessions",
            about="small clusters with sessions, timers and messages of services that come and go, over snapshots and changes of leaders",
            sizes=(1, 3, 3),
            services=(1, 2),
            clients=(1, 3),
            duration_s=(4, 10),
            misfortune_s=(0.3, 1.5),
            kinds=(
                *3 * (Trouble.SNAPSHOT, Trouble.ISOLATION),
                *2 * (Trouble.KILL_NODE, Trouble.KILL_PROCESS),
                *(Trouble.PAUSE, Trouble.SLOW, Trouble.SUSPENSION, Trouble.POWER_OF_ALL, Trouble.ROLLING_RESTART),
            ),
            timer_services=(WHEEL, PRIORITY_HEAP),
            habits=Habits(
                operations=(Operation.APPEND, *2 * (Operation.RELAY, Operation.LATE_TIMER), Operation.TIMER), rest_ms=(2, 60), leave=0.1
            ),
        ),
    )
}
ALL_SCENARIOS: dict[str, AnyScenario] = {**SCENARIOS, **ARCHIVE_SCENARIOS, **CLUSTER_SCENARIOS}
