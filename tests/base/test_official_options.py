"""Options of archive and cluster against what official contexts make of the same properties."""

from __future__ import annotations

import pytest

from aerowire.base.options import options_of, resolve_options
from aerowire.codecs.tables.archive_options import OPTIONS as ARCHIVE_OPTIONS
from aerowire.codecs.tables.cluster_options import OPTIONS as CLUSTER_OPTIONS
from tests.support.official_options import UNSET, UNTOLD, OfficialOption, official_options

ROWS = official_options()
OPTIONS = (*ARCHIVE_OPTIONS.values(), *CLUSTER_OPTIONS.values())
COMPONENTS = ("archive", "archive-client", "consensus-module", "cluster-service", "cluster-client", "cluster-backup", "cluster-tool")
# What a context tells in other units.
UNITS = {"timeoutMs": 1_000_000}

# Read by a component only as its context is concluded, or by its agents; the official source says where.
READ_LATER = {
    ("consensus-module", "aeron.archive.local.control.channel"): "ConsensusModule.Context.conclude",
    ("consensus-module", "aeron.archive.local.control.stream.id"): "ConsensusModule.Context.conclude",
    ("consensus-module", "aeron.archive.control.response.stream.id"): "ConsensusModule.Context.conclude",
    ("consensus-module", "aeron.cluster.mark.file.dir"): "ConsensusModule.Context.conclude",
    ("consensus-module", "aeron.cluster.idle.strategy"): "ConsensusModule.Context.conclude",
    ("consensus-module", "aeron.cluster.clock"): "ConsensusModule.Context.conclude: MillisecondClusterClock",
    ("cluster-service", "aeron.archive.local.control.channel"): "ClusteredServiceContainer.Context.conclude",
    ("cluster-service", "aeron.archive.local.control.stream.id"): "ClusteredServiceContainer.Context.conclude",
    ("cluster-service", "aeron.archive.control.response.stream.id"): "ClusteredServiceContainer.Context.conclude",
    ("cluster-backup", "aeron.archive.local.control.channel"): "ClusterBackup.Context.conclude",
    ("cluster-backup", "aeron.archive.local.control.stream.id"): "ClusterBackup.Context.conclude",
    ("cluster-backup", "aeron.cluster.mark.file.dir"): "ClusterBackup.Context.conclude",
    ("cluster-backup", "aeron.cluster.idle.strategy"): "ClusterBackup.Context.conclude",
    ("cluster-backup", "aeron.cluster.members"): "ClusterBackup.Configuration.catchupEndpoint, consensusChannel",
    ("cluster-backup", "aeron.cluster.member.id"): "ClusterBackup.Configuration.catchupEndpoint, consensusChannel",
    ("cluster-backup", "aeron.cluster.member.endpoints"): "ClusterBackup.Configuration.catchupEndpoint, consensusChannel",
    ("cluster-tool", "aeron.cluster.tool.delay"): "ClusterTool: named, and taken as an argument",
    **{(component, "aeron.event.archive.log"): "ArchiveLog" for component in ("archive", "archive-client")},
    **{(component, "aeron.event.archive.log.disable"): "ArchiveLog" for component in ("archive", "archive-client")},
    **{(component, "aeron.event.cluster.log"): "ClusterLog" for component in ("consensus-module", "cluster-backup")},
    **{(component, "aeron.event.cluster.log.disable"): "ClusterLog" for component in ("consensus-module", "cluster-backup")},
}
# No official archive has these.
OWN = {("archive", "aeron.archive.segment.file.preallocate")}


def written(value: object) -> str:
    return UNSET if value in (None, "") else str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.component}-{row.property}")
def test_default_and_readers_are_those_of_official_contexts(row: OfficialOption) -> None:
    values = resolve_options({row.component}, {}, {}, environ={})
    names = [name for name, option in options_of({row.component}).items() if row.property in (option.property, option.default_of)]
    assert names, f"{row.component} reads no option {row.property}"
    if row.default not in UNTOLD:
        official = UNSET if row.default == "" or row.default.startswith("!") else row.default
        # A default that an official context gives out as -1 until it is concluded is none here.
        official = UNSET if (row.getter, official) == ("replicationProgressIntervalNs", "-1") else official
        scale = UNITS.get(row.getter, 1)
        found = [written(values[name]) if scale == 1 else str(int(str(values[name])) // scale) for name in names]
        if official == UNSET and options_of({row.component})[names[0]].default_of:
            return
        assert official in found


def test_every_option_is_told_by_a_context_or_read_later() -> None:
    told = {(row.component, row.property) for row in ROWS}
    ours = {(scope, option.property) for option in OPTIONS for scope in option.scopes}
    assert ours - told == set(READ_LATER) | OWN
    assert {scope for scope, _ in ours} == set(COMPONENTS)
