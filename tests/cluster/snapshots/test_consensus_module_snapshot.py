"""Snapshots of consensus modules: those of official ones, what each record says, and streams that hold no state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from aerowire.base.errors import ClusterSnapshotError
from aerowire.cluster.snapshots.consensus_module_snapshot import (
    ClusterSessionRecord,
    ConsensusModuleRecord,
    ConsensusModuleSnapshotLoader,
    ConsensusModuleState,
    PendingMessagesRecord,
    check_details,
    encode_consensus_module_snapshot,
)
from aerowire.cluster.snapshots.markers import CONSENSUS_MODULE_SNAPSHOT_TYPE_ID, SnapshotDetails, SnapshotRecords
from aerowire.codecs.flyweights.cluster.enums import CloseReason, ClusterTimeUnit
from aerowire.codecs.flyweights.cluster.messages.cluster_members import ClusterMembers
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader

BASE = -(1 << 63)
SERVICE_1 = BASE + (1 << 56)
DETAILS = SnapshotDetails(type_id=1, log_position=4352, leadership_term_id=3, app_version=1)
STATE = ConsensusModuleState(
    numbers=ConsensusModuleRecord(
        next_session_id=8, next_service_session_id=BASE + 4, log_service_session_id=BASE + 2, pending_message_capacity=48
    ),
    sessions=(
        ClusterSessionRecord(
            session_id=3, correlation_id=33, opened_log_position=96, response_stream_id=102, response_channel="aeron:udp?endpoint=a:1"
        ),
        ClusterSessionRecord(
            session_id=7,
            correlation_id=-5,
            opened_log_position=256,
            response_stream_id=-1,
            response_channel="",
            close_reason=CloseReason.TIMEOUT,
        ),
    ),
    timers=((9, 1_000), (-4, 2**63 - 1)),
    pending_messages=(
        PendingMessagesRecord(
            service_id=0,
            next_service_session_id=BASE + 4,
            log_service_session_id=BASE + 2,
            capacity=48,
            messages=(SessionMessageHeader(leadership_term_id=3, cluster_session_id=BASE + 3, timestamp=2**63 - 1).encode() + b"first",),
        ),
        PendingMessagesRecord(service_id=1, next_service_session_id=SERVICE_1 + 1, log_service_session_id=SERVICE_1, capacity=0),
    ),
)


def official() -> dict[str, list[bytes]]:
    text = (Path(__file__).parents[2] / "data" / "cluster" / "consensus-module-snapshots.txt").read_text()
    blocks = [block.splitlines() for block in text.split("\n\n")[1:]]
    return {name: [bytes.fromhex(line) for line in lines] for name, *lines in blocks}


OFFICIAL = official()


def load(messages: Iterable[bytes], service_count: int = 2) -> tuple[SnapshotDetails | None, ConsensusModuleState]:
    records = SnapshotRecords(CONSENSUS_MODULE_SNAPSHOT_TYPE_ID, "recording 5")
    loader = ConsensusModuleSnapshotLoader("recording 5", service_count)
    for message in messages:
        template_id = records.on_message(message)
        if template_id is not None:
            loader.on_record(template_id, message)
    assert records.is_done
    return records.details, loader.state()


@pytest.mark.parametrize("name", OFFICIAL)
def test_an_official_snapshot_is_read_and_written_again_byte_for_byte(name: str) -> None:
    details, state = load(OFFICIAL[name], service_count=1)
    assert details is not None
    assert list(encode_consensus_module_snapshot(details, state)) == OFFICIAL[name]


def test_an_official_snapshot_says_what_the_official_tool_says_of_it() -> None:
    details, state = load(OFFICIAL["one-node-kill node0 recording 4"], service_count=1)
    assert details == SnapshotDetails(type_id=1, log_position=10208, leadership_term_id=0, time_unit=ClusterTimeUnit.MILLIS, app_version=1)
    assert state == ConsensusModuleState(
        numbers=ConsensusModuleRecord(next_session_id=2, next_service_session_id=BASE + 1, log_service_session_id=BASE),
        sessions=(
            ClusterSessionRecord(
                session_id=1,
                correlation_id=4,
                opened_log_position=256,
                response_stream_id=102,
                response_channel="aeron:udp?rejoin=false|endpoint=127.0.0.1:41555",
            ),
        ),
        pending_messages=(PendingMessagesRecord(service_id=0, next_service_session_id=BASE + 1, log_service_session_id=BASE, capacity=0),),
    )
    assert len(OFFICIAL) == 8


def test_all_that_a_snapshot_holds_comes_back() -> None:
    messages = list(encode_consensus_module_snapshot(DETAILS, STATE))
    assert [int.from_bytes(message[2:4], "little") for message in messages] == [100, 105, 103, 103, 104, 104, 107, 1, 107, 100]
    assert load(messages) == (DETAILS, STATE)


def test_a_module_without_services_stores_no_messages() -> None:
    state = ConsensusModuleState(numbers=ConsensusModuleRecord(next_session_id=1))
    assert load(encode_consensus_module_snapshot(DETAILS, state), service_count=0) == (DETAILS, state)


def test_members_and_unknown_records_are_passed_over() -> None:
    messages = list(encode_consensus_module_snapshot(DETAILS, STATE))
    members = ClusterMembers(member_id=0, high_member_id=2, cluster_members="0,a,b,c,d,e").encode()
    unknown = members[:2] + (199).to_bytes(2, "little") + members[4:]
    assert load([*messages[:2], members, *messages[2:6], unknown, *messages[6:]]) == (DETAILS, STATE)


def test_messages_without_a_tracker_belong_to_the_first_service() -> None:
    messages = list(encode_consensus_module_snapshot(DETAILS, STATE))
    del messages[8], messages[6]
    _, state = load(messages, service_count=1)
    assert state.pending_messages == STATE.pending_messages[:1]


def test_a_snapshot_of_an_older_version_has_no_numbers_of_services() -> None:
    messages = list(encode_consensus_module_snapshot(DETAILS, replace(STATE, sessions=(), timers=(), pending_messages=())))
    head = bytearray(messages[1][:16])
    head[0:2], head[6:8] = (8).to_bytes(2, "little"), (2).to_bytes(2, "little")
    _, state = load([messages[0], bytes(head), messages[2]], service_count=1)
    assert state.pending_messages == (
        PendingMessagesRecord(service_id=0, next_service_session_id=BASE + 1, log_service_session_id=BASE, capacity=0),
    )


BEGIN, NUMBERS, SESSION, OTHER_SESSION, TIMER, _, TRACKER, MESSAGE, OTHER_TRACKER, END = encode_consensus_module_snapshot(DETAILS, STATE)


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([BEGIN, SESSION], r"recording 5, record 0; expected ConsensusModule first; got ClusterSession"),
        ([BEGIN, NUMBERS, NUMBERS], r"record 1; expected ClusterSession or Timer or PendingMessageTracker or .*; got ConsensusModule"),
        ([BEGIN, NUMBERS, TIMER, SESSION], r"record 2; expected Timer or PendingMessageTracker or .*; got ClusterSession"),
        ([BEGIN, NUMBERS, TRACKER, TIMER], r"record 2; expected PendingMessageTracker or SessionMessageHeader; got Timer"),
        ([BEGIN, NUMBERS, SESSION, SESSION], r"record 2; expected a session once; got session 3 again"),
        ([BEGIN, NUMBERS, TIMER, TIMER], r"expected a timer once; got timer 9 again"),
        ([BEGIN, NUMBERS, TRACKER, MESSAGE, TRACKER], r"record 3; expected a service once, before its messages; got service 0 again"),
        ([BEGIN, NUMBERS, MESSAGE, TRACKER], r"expected a service once, before its messages; got service 0 again"),
        ([BEGIN, NUMBERS, OTHER_TRACKER[:-4] + b"\x02\0\0\0"], r"expected one of 2 services; got service 2"),
        ([BEGIN, NUMBERS, SESSION[:50]], r"record 1; expected a whole ClusterSession"),
        ([BEGIN, END], r"record 0; expected ConsensusModule; got the end of the snapshot"),
    ],
)
def test_records_that_are_out_of_place_are_refused_with_their_number(messages: list[bytes], problem: str) -> None:
    with pytest.raises(ClusterSnapshotError, match=problem):
        load(messages)


def test_a_service_that_the_member_does_not_have_is_refused() -> None:
    with pytest.raises(ClusterSnapshotError, match=r"expected one of 1 services; got service 1"):
        load(encode_consensus_module_snapshot(DETAILS, STATE), service_count=1)


def test_times_in_another_unit_and_other_applications_are_refused() -> None:
    def check(details: SnapshotDetails) -> None:
        check_details(
            details, "recording 5", time_unit=ClusterTimeUnit.MILLIS, app_version=0x020000, is_compatible=lambda a, b: a >> 16 == b >> 16
        )

    check(replace(DETAILS, app_version=0x020305))
    with pytest.raises(ClusterSnapshotError, match=r"incompatible application; at recording 5; expected version 2\.0\.0; got 1\.3\.5"):
        check(replace(DETAILS, app_version=0x010305))
    with pytest.raises(ClusterSnapshotError, match=r"another unit; at recording 5; expected MILLIS; got NANOS"):
        check(replace(DETAILS, app_version=0x020000, time_unit=ClusterTimeUnit.NANOS))
