"""Options of a consensus module: defaults, checks, and what follows from them."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.base.errors import ConfigurationError, UnknownOptionError
from aerowire.cluster.module.context import ConsensusModuleContext
from aerowire.cluster.snapshots.app_version import has_same_major_version
from aerowire.codecs.flyweights.cluster.enums import ClusterTimeUnit
from aerowire.codecs.tables.cluster_options import OPTIONS

MEMBERS = "0,a:1,a:2,a:3,a:4,a:5|7,b:1,b:2,b:3,b:4,b:5"
NEEDED: dict[str, Any] = {
    "cluster_members": MEMBERS,
    "ingress_channel": "aeron:udp",
    "replication_channel": "aeron:udp?endpoint=a:0",
    "environ": {},
}


def test_every_option_is_an_attribute_with_its_default() -> None:
    context = ConsensusModuleContext(**NEEDED)
    names = {name for name, option in OPTIONS.items() if "consensus-module" in option.scopes}
    assert names <= set(context.options)
    for name in names - set(NEEDED):
        option = OPTIONS[name]
        if option.default is not None:
            assert context.options[name] == option.default, name
    assert context.member.log_endpoint == "a:3"
    assert context.agent_role_name == "consensus-module-0-0"
    assert context.time_unit is ClusterTimeUnit.MILLIS
    assert context.consensus_options.leader_heartbeat_timeout_ns == 10_000_000_000


def test_options_come_by_property_and_environment() -> None:
    properties = {"aeron.cluster.member.id": "7", "aeron.cluster.clock": "io.aeron.cluster.NanosecondClusterClock"}
    environ = {"AERON_CLUSTER_ID": "3", "AERON_CLUSTER_SERVICE_COUNT": "2"}
    context = ConsensusModuleContext(**{**NEEDED, "properties": properties, "environ": environ})
    assert (context.member.member_id, context.cluster_id, context.service_count) == (7, 3, 2)
    assert context.time_unit is ClusterTimeUnit.NANOS
    assert context.agent_role_name == "consensus-module-3-7"


def test_the_archive_is_asked_by_local_channels_of_the_member() -> None:
    context = ConsensusModuleContext(**{**NEEDED, "cluster_id": 2, "cluster_member_id": 7})
    archive = context.archive_context(None)  # type: ignore[arg-type]
    assert archive.control_request_channel == "aeron:ipc?term-length=64k|alias=cm-archive-ctrl-req-cluster-2-member-7"
    assert archive.control_response_channel == "aeron:ipc?term-length=64k|alias=cm-archive-ctrl-resp-cluster-2-member-7"
    assert (archive.control_request_stream_id, archive.control_response_stream_id) == (10, 320)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cluster_members": None}, "aeron.cluster.members is not set"),
        ({"cluster_member_id": 1}, "is no member of the cluster"),
        ({"member_endpoints": "a:1,a:2,a:3,a:4,a:9"}, "differs from cluster_members"),
        ({"service_count": 11}, "aeron.cluster.service.count is out of range"),
        ({"file_sync_level": 3}, "is out of range"),
        ({"ticks_per_wheel": 100}, "is not a power of two"),
        ({"startup_canvass_timeout_ns": "19s"}, "is too short"),
        ({"ingress_channel": None}, "aeron.cluster.ingress.channel is not set"),
        ({"replication_channel": None}, "aeron.cluster.replication.channel is not set"),
        ({"log_channel": "aeron:udp?term-id=4"}, "must not contain term-id"),
        ({"consensus_channel": "udp"}, "is not a channel"),
        ({"clock": "sundial"}, "there is no such cluster clock"),
        ({"leader_heartbeat_interval_ns": "10s"}, "invalid time of consensus"),
    ],
)
def test_options_that_cannot_be_obeyed_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        ConsensusModuleContext(**{**NEEDED, **options})


def test_an_option_of_another_component_is_unknown() -> None:
    with pytest.raises(UnknownOptionError):
        ConsensusModuleContext(**NEEDED, backup_interval_ns="1h")


def test_versions_fit_by_their_major_number() -> None:
    assert has_same_major_version(0x010203, 0x010500)
    assert not has_same_major_version(0x010203, 0x020203)
