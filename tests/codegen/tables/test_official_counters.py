"""Counter types of archive and cluster against the counters of live official nodes: keys and labels are read and written."""

from __future__ import annotations

import pytest

from aerowire.codecs.flyweights.cnc import (
    ClusterControlToggle,
    ClusterRole,
    ConsensusModuleState,
    ElectionState,
    PersistentSubscriptionState,
)
from aerowire.codecs.tables.counters import COUNTER_LABEL_FORMATS, CounterType, format_label, parse_label
from tests.support.official_counters import MADE, NEVER_MADE, OfficialCounter, check_counter, official_counters

COUNTERS = official_counters()


@pytest.mark.parametrize("counter", COUNTERS, ids=lambda counter: f"{counter.moment}-{counter.type_id}")
def test_label_and_key_of_an_official_counter_are_read_and_written(counter: OfficialCounter) -> None:
    check_counter(counter)


def test_every_type_that_archive_and_cluster_make_is_there() -> None:
    assert {counter.type_id for counter in COUNTERS} == MADE
    assert not NEVER_MADE & set(COUNTER_LABEL_FORMATS)
    assert set(COUNTER_LABEL_FORMATS) > MADE


def test_states_of_a_node_that_runs_are_named() -> None:
    values = {counter.type_id: counter.value for counter in COUNTERS if counter.moment == "recording"}
    assert ConsensusModuleState(values[CounterType.CLUSTER_CONSENSUS_MODULE_STATE]) is ConsensusModuleState.ACTIVE
    assert ElectionState(values[CounterType.CLUSTER_ELECTION_STATE]) is ElectionState.CLOSED
    assert ClusterRole(values[CounterType.CLUSTER_NODE_ROLE]) is ClusterRole.LEADER
    assert ClusterControlToggle(values[CounterType.CLUSTER_CONTROL_TOGGLE]) is ClusterControlToggle.NEUTRAL
    assert PersistentSubscriptionState(values[CounterType.PERSISTENT_SUBSCRIPTION_STATE]) is PersistentSubscriptionState.LIVE


def test_parts_of_labels_are_told_apart() -> None:
    labels = {counter.type_id: counter.label for counter in COUNTERS if counter.moment == "recording"}
    assert parse_label(212, labels[212]) == {"cluster_id": 7, "version": "1.51.0", "commit": "9773cba37e"}
    assert parse_label(219, labels[219]) == {"threshold": "100ms", "cluster_id": 7, "service_id": 0}
    assert parse_label(241, labels[241]) == {
        "client_info": "name=trader version=1.51.0 commit=9773cba37e sourceIdentity="
        + labels[241].split("sourceIdentity=")[1].removesuffix(" - clusterId=7"),
        "cluster_id": 7,
    }
    agents = {str((parse_label(103, counter.label) or {})["agent"]) for counter in COUNTERS if counter.type_id == 103}
    assert agents == {"archive-conductor", "archive-recorder", "archive-replayer"}


def test_version_is_appended_to_an_error_counter_where_it_is_known() -> None:
    assert format_label(101, archive_id=-42) == "Archive Errors - archiveId=-42"
    assert parse_label(101, "Archive Errors - archiveId=-42") == {"archive_id": -42}
    assert format_label(215, cluster_id=1, service_id=2, version="1.2.3", commit="abc") == (
        "Cluster Container Errors - clusterId=1 serviceId=2 version=1.2.3 commit=abc"
    )


def test_a_channel_may_look_like_what_is_appended() -> None:
    channel = "aeron:udp?alias=x - archiveId=1"
    label = format_label(100, recording_id=1, session_id=2, stream_id=3, channel=channel, archive_id=4)
    assert parse_label(100, label) == {"recording_id": 1, "session_id": 2, "stream_id": 3, "channel": channel, "archive_id": 4}


def test_a_label_without_its_archive_is_neither_written_nor_read() -> None:
    with pytest.raises(KeyError, match="archive_id"):
        format_label(102)
    assert parse_label(102, "Archive Control Sessions") is None
