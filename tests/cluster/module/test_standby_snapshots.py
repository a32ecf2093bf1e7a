"""Snapshots in the archive of another node: accepted, delayed, fetched when an operator asks for it, and when a member starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.client import Aeron
from aerowire.cluster.sessions.session_options import PROTOCOL_VERSION
from aerowire.codecs.flyweights.cluster.messages.standby_snapshot import StandbySnapshot, StandbySnapshotSnapshots
from aerowire.codecs.flyweights.cnc import ClusterControlToggle, ConsensusModuleState, NodeControlToggle
from aerowire.codecs.flyweights.recording_log import EntryType
from aerowire.codecs.tables.counters import CounterType
from tests.cluster.module.whole_node import EGRESS, Node
from tests.support.waiting import wait_until

WORDS = ("one", "two", "three", "four")
DELAY_NS = 50_000_000
UNKNOWN_RECORDING_ID = 4711


def say_words(node: Node) -> None:
    """Have a session of four messages in the log, from its beginning to its end."""
    client = node.connect()
    for word in WORDS:
        node.echo(client, word)
    session_id = client.cluster_session_id
    client.close()
    node.until(lambda: f"closed {session_id}" in node.service.events)


@pytest.fixture
def standby(tmp_path: Path) -> Iterator[Node]:
    """A node that has taken a snapshot behind four messages, in the place of a standby of the other node's cluster."""
    node = Node(tmp_path / "standby")
    say_words(node)
    node.toggle(ClusterControlToggle.SNAPSHOT)
    node.until(lambda: node.counter(CounterType.CLUSTER_SNAPSHOT) == 1)
    yield node
    node.stop()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """A node whose log has the same messages, an action where the snapshot of the standby is, and more behind that."""
    node = Node(
        tmp_path / "node",
        accept_standby_snapshots=True,
        standby_snapshot_notification_processing_delay_ns=DELAY_NS,
        session_timeout_ns="5s",
    )
    say_words(node)
    node.toggle(ClusterControlToggle.SUSPEND)
    node.until(lambda: node.counter(CounterType.CLUSTER_CONSENSUS_MODULE_STATE) == ConsensusModuleState.SUSPENDED)
    node.toggle(ClusterControlToggle.RESUME, ClusterControlToggle.SUSPEND)
    node.until(lambda: node.counter(CounterType.CLUSTER_CONSENSUS_MODULE_STATE) == ConsensusModuleState.ACTIVE)
    say_words(node)
    yield node
    node.stop()


def entries_of(standby: Node, endpoint: str, *, shift: int = 0, recording_id: int | None = None) -> list[StandbySnapshotSnapshots]:
    """Return what a standby tells of its snapshots; not the truth with a shift of their position, or another recording."""
    return [
        StandbySnapshotSnapshots(
            recording_id=entry.recording_id if recording_id is None else recording_id,
            leadership_term_id=entry.leadership_term_id,
            term_base_log_position=entry.term_base_log_position,
            log_position=entry.log_position + shift,
            timestamp=entry.timestamp,
            service_id=entry.service_id,
            archive_endpoint=endpoint,
        )
        for entry in standby.module.agent.core.recording_log.entries
        if entry.is_valid_snapshot
    ]


def notify(node: Node, snapshots: list[StandbySnapshotSnapshots]) -> None:
    """Tell a node of snapshots, as a standby does, and wait until they are in its recording.log."""
    before = node.counter(CounterType.CLUSTER_STANDBY_SNAPSHOT)
    with Aeron.connect(node.driver.aeron_dir) as aeron:
        publication = aeron.add_publication(f"aeron:udp?endpoint={node.consensus_endpoint}", 108)
        responses = aeron.add_subscription(EGRESS, 109)
        wait_until(lambda: responses.resolved_endpoint is not None, "no port for responses")
        message = StandbySnapshot(
            correlation_id=1,
            version=PROTOCOL_VERSION,
            response_stream_id=109,
            response_channel=f"aeron:udp?endpoint={responses.resolved_endpoint}",
            snapshots=snapshots,
            encoded_credentials=b"",
        )
        wait_until(lambda: publication.offer(message.encode()) > 0, "no room in the consensus stream")
        node.until(lambda: node.counter(CounterType.CLUSTER_STANDBY_SNAPSHOT) == before + 1)


def snapshots_of(node: Node, kind: EntryType) -> list[tuple[int, int]]:
    """Return service and position of the snapshots in a node's recording.log."""
    return [(entry.service_id, entry.log_position) for entry in node.module.agent.core.recording_log.entries if entry.entry_type == kind]


def test_snapshots_are_fetched_when_an_operator_asks_for_it_and_a_member_starts_from_them(node: Node, standby: Node) -> None:
    snapshots = entries_of(standby, standby.archive_endpoint)
    position = snapshots[0].log_position
    assert node.counter(CounterType.CLUSTER_COMMIT_POSITION) > position
    notify(node, snapshots)
    assert snapshots_of(node, EntryType.STANDBY_SNAPSHOT) == [(0, position), (-1, position)]
    assert snapshots_of(node, EntryType.SNAPSHOT) == []

    toggle = node.module.agent.core.counters[CounterType.NODE_CONTROL_TOGGLE]
    assert toggle.compare_and_set(NodeControlToggle.NEUTRAL, NodeControlToggle.REPLICATE_STANDBY_SNAPSHOT)
    node.until(lambda: node.counter(CounterType.CLUSTER_SNAPSHOT) == 1)
    assert toggle.value == NodeControlToggle.NEUTRAL
    assert snapshots_of(node, EntryType.SNAPSHOT) == [(0, position), (-1, position)]
    assert node.errors == []

    node.stop()
    node.start()
    assert node.service.count == 2 * len(WORDS)
    # What was said behind the snapshot was replayed, what was said before it was not.
    assert [event for event in node.service.events if event.startswith("closed")] == ["closed 2"]
    assert snapshots_of(node, EntryType.SNAPSHOT) == [(0, position), (-1, position)]
    assert node.errors == []


def test_a_member_that_starts_fetches_snapshots_from_the_next_standby_where_one_fails(node: Node, standby: Node) -> None:
    snapshots = entries_of(standby, standby.archive_endpoint)
    another_name = standby.archive_endpoint.replace("127.0.0.1", "localhost")
    notify(node, snapshots)
    notify(node, entries_of(standby, another_name, shift=32, recording_id=UNKNOWN_RECORDING_ID))
    node.stop()
    node.start()
    position = snapshots[0].log_position
    assert snapshots_of(node, EntryType.SNAPSHOT) == [(0, position), (-1, position)]
    assert node.counter(CounterType.CLUSTER_SNAPSHOT) == 1
    assert node.service.count == 2 * len(WORDS)
    assert node.errors == []


def test_a_member_starts_without_snapshots_that_no_standby_gives(node: Node, standby: Node) -> None:
    notify(node, entries_of(standby, standby.archive_endpoint, recording_id=UNKNOWN_RECORDING_ID))
    node.stop()
    node.start()
    assert snapshots_of(node, EntryType.SNAPSHOT) == []
    assert node.service.count == 2 * len(WORDS)
    assert len(node.errors) == 1
    assert "failed to replicate any standby snapshots" in node.errors[0]
