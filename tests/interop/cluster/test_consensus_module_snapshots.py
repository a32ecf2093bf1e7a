"""Snapshots of consensus modules beside the official classes: the same state gives the same messages, and each reads the other's."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from aerowire.cluster.service_messages.pending_service_message_tracker import SESSION_HEADER_LENGTH, PendingServiceMessageTracker
from aerowire.cluster.snapshots.consensus_module_snapshot import (
    ClusterSessionRecord,
    ConsensusModuleRecord,
    ConsensusModuleSnapshotLoader,
    ConsensusModuleState,
    encode_consensus_module_snapshot,
)
from aerowire.cluster.snapshots.markers import CONSENSUS_MODULE_SNAPSHOT_TYPE_ID, SnapshotDetails, SnapshotRecords
from aerowire.codecs.flyweights.cluster.enums import CloseReason
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader
from tests.conftest import SEED
from tests.interop.harness import Java

pytestmark = pytest.mark.interop

MAIN = "io.aeron.cluster.ConsensusModuleSnapshots"
DETAILS = SnapshotDetails(type_id=CONSENSUS_MODULE_SNAPSHOT_TYPE_ID, log_position=1 << 40, leadership_term_id=7, app_version=1)
SERVICES = 3


def random_state(random: Random) -> tuple[ConsensusModuleState, list[str]]:
    """Return a state, and the commands that give it to the official classes; some messages are longer than a frame."""
    sessions = tuple(
        ClusterSessionRecord(
            session_id=number,
            correlation_id=random.getrandbits(63) - (1 << 62),
            opened_log_position=32 * number,
            response_stream_id=random.choice([102, -1]),
            response_channel="aeron:udp?endpoint=" + "h" * random.choice([4, 4, 4_000]) + ":1",
            close_reason=random.choice(list(CloseReason)),
        )
        for number in range(1, 40)
    )
    timers = tuple((random.getrandbits(63), random.getrandbits(40)) for _ in range(50))
    trackers = [PendingServiceMessageTracker(service_id) for service_id in range(SERVICES)]
    commands = []
    for tracker in trackers:
        for _ in range(random.choice([0, 30])):
            length = random.choice([0, 10, 5_000])
            tracker.enqueue_message(SessionMessageHeader(leadership_term_id=0, cluster_session_id=0, timestamp=0).encode() + bytes(length))
            commands.append(f"message {tracker.service_id} {length}")
        seen = tracker.log_service_session_id + random.randrange(20)
        tracker.sweep_follower_messages(seen)
        commands.append(f"sweep {tracker.service_id} {seen}")
    first = trackers[0]
    state = ConsensusModuleState(
        numbers=ConsensusModuleRecord(
            next_session_id=40,
            next_service_session_id=first.next_service_session_id,
            log_service_session_id=first.log_service_session_id,
            pending_message_capacity=first.size,
        ),
        sessions=sessions,
        timers=timers,
        pending_messages=tuple(tracker.record() for tracker in trackers),
    )
    return state, commands


def lines_of(state: ConsensusModuleState) -> list[str]:
    """Return what a state is in the words of the commands, with the reader's words for trackers and their messages."""
    numbers = state.numbers
    head = (numbers.next_session_id, numbers.next_service_session_id, numbers.log_service_session_id, numbers.pending_message_capacity)
    lines = [f"state {' '.join(map(str, head))}"]
    for each in state.sessions:
        values = (each.session_id, each.correlation_id, each.opened_log_position, each.response_stream_id, each.close_reason.value)
        lines.append(f"session {' '.join(map(str, values))} {each.response_channel}")
    lines += [f"timer {correlation_id} {deadline}" for correlation_id, deadline in state.timers]
    for pending in state.pending_messages:
        tracker = pending.service_id, pending.next_service_session_id, pending.log_service_session_id, pending.capacity
        lines.append(f"tracker {' '.join(map(str, tracker))}")
        for data in pending.messages:
            header = SessionMessageHeader.decode(data)
            lines.append(f"message {header.cluster_session_id} {len(data) - SESSION_HEADER_LENGTH}")
    return lines


def without_version(message: bytes) -> bytes:
    """Return a message without the version of the schema, of which the jar has an older one."""
    return message[:6] + message[8:]


def test_both_write_the_same_snapshot_of_a_state_and_each_reads_the_others(java: Java, tmp_path: Path) -> None:
    state, commands = random_state(Random(SEED))
    snapshot = list(encode_consensus_module_snapshot(DETAILS, state))
    records = [line if line.split()[0] != "tracker" else " ".join(line.split()[:2]) for line in lines_of(state)]
    records = [line for line in records if not line.startswith("message")]
    marks = [f"{mark} {DETAILS.log_position} {DETAILS.leadership_term_id}" for mark in ("begin", "end")]
    (tmp_path / "commands").write_text("\n".join([*commands, marks[0], *records, marks[1]]) + "\n")
    official = [bytes.fromhex(line) for line in java.run_tool(MAIN, tmp_path, "write", str(tmp_path / "commands")).splitlines()]
    assert list(map(without_version, official)) == list(map(without_version, snapshot))

    found = SnapshotRecords(CONSENSUS_MODULE_SNAPSHOT_TYPE_ID, "official")
    loader = ConsensusModuleSnapshotLoader("official", SERVICES)
    for message in official:
        template_id = found.on_message(message)
        if template_id is not None:
            loader.on_record(template_id, message)
    assert (found.details, lines_of(loader.state())) == (DETAILS, lines_of(state))

    (tmp_path / "snapshot").write_text("\n".join(message.hex() for message in snapshot) + "\n")
    read = java.run_tool(MAIN, tmp_path, "read", str(tmp_path / "snapshot")).splitlines()
    assert read == ["begin 1 MILLISECONDS", *lines_of(state), "end", "done"]
