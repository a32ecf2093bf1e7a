"""The terms of a member: how far a leader commits, what a follower says and consumes, and when either gives up."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from aerowire.cluster.agents.agent_events import LogEnd, TermFault
from aerowire.cluster.agents.drop_counts import DropReason
from aerowire.cluster.agents.events import (
    ConsensusMessage,
    LogMessage,
    LogReached,
    LogReturned,
    MessageSent,
    PublicationReturned,
    TermEnded,
    TermFaulted,
)
from aerowire.cluster.agents.member_positions import ReportedPosition
from aerowire.cluster.agents.outbound_message import OutboundMessage
from aerowire.codecs.flyweights.cluster import (
    AppendPosition,
    CanvassPosition,
    CloseReason,
    ClusterAction,
    ClusterActionRequest,
    ClusterTimeUnit,
    CommitPosition,
    NewLeadershipTermEvent,
    SessionCloseEvent,
    TimerEvent,
)
from tests.cluster.agents.log_host import CONSENSUS_STREAM, FOREVER, INTERVAL_NS, TERM, TIMEOUT_NS, LogHost, session_message

NOT_CONNECTED = -1


def append_position(member_id: int, position: int, *, term_id: int = TERM, flags: int | None = 0) -> bytes:
    return AppendPosition(leadership_term_id=term_id, log_position=position, follower_member_id=member_id, flags=flags).encode()


def commit_position(position: int, *, term_id: int = TERM, leader_id: int = 1) -> bytes:
    return CommitPosition(leadership_term_id=term_id, log_position=position, leader_member_id=leader_id).encode()


# A leader


def test_a_leader_commits_what_it_and_one_of_two_followers_have_recorded(host: LogHost) -> None:
    host.connect_members()
    host.lead()
    member = host.publication(CONSENSUS_STREAM)
    [first] = host.sent[1].decoded()
    assert first == CommitPosition(leadership_term_id=TERM, log_position=0, leader_member_id=0)
    host.recording_counter.value = 640
    host.settle()
    assert host.commit_counter.value == 0
    host.offer(member, append_position(2, 320))
    host.settle()
    assert host.commit_counter.value == 320
    host.offer(member, append_position(1, 1_000))
    host.settle()
    assert host.commit_counter.value == 640, "no more than the leader's own archive has recorded"
    assert [message.log_position for message in host.sent[1].decoded()] == [320, 640]
    assert [message.log_position for message in host.sent[2].decoded()] == [0, 320, 640]


def test_a_leader_tells_its_commit_position_each_interval_and_never_takes_it_back(host: LogHost) -> None:
    host.connect_members()
    term = host.lead()
    member = host.publication(CONSENSUS_STREAM)
    host.recording_counter.value = 640
    host.offer(member, append_position(1, 640))
    host.settle()
    host.sent[1].poll()
    begin_ns = host.clock.now_ns()
    for elapsed_ns in range(100, 900, 100):
        host.at(begin_ns + elapsed_ns)
        host.offer(member, append_position(2, 320))
    host.at(begin_ns + TIMEOUT_NS)
    assert [message.log_position for message in host.sent[1].decoded()] == [640] * 5
    assert host.commit_counter.value == term.commit.commit_position == 640, "member 1 is silent, and the quorum's position 320"
    assert host.took(TermFaulted) == []
    assert host.invoker.next_deadline_ns() == begin_ns + TIMEOUT_NS + INTERVAL_NS


def test_a_leader_that_hears_of_no_majority_stops_and_says_so_once(host: LogHost) -> None:
    host.connect_members()
    term = host.lead()
    member = host.publication(CONSENSUS_STREAM)
    host.at(10_000 + TIMEOUT_NS)
    assert host.took(TermFaulted) == [TermFaulted(term, TermFault.INACTIVE_QUORUM)]
    host.sent[1].poll()
    host.recording_counter.value = 640
    host.offer(member, append_position(1, 640))
    host.at(10_000 + 3 * TIMEOUT_NS)
    assert host.sent[1].poll() == []
    assert host.commit_counter.value == 0
    assert [event.message for event in host.took(ConsensusMessage)] == [append_position(1, 640)]
    host.proxy.end_term()
    assert host.took(TermEnded) == [TermEnded(term)]
    assert host.took(TermFaulted) == []


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (append_position(3, 64), DropReason.UNKNOWN_MEMBER),
        (append_position(0, 64), DropReason.UNKNOWN_MEMBER),
        (append_position(1, 64, term_id=TERM + 1), DropReason.WRONG_TERM),
        (append_position(1, -1), DropReason.MALFORMED),
        (append_position(1, 64, term_id=-1), DropReason.MALFORMED),
        (append_position(1, 64)[:27], DropReason.MALFORMED),
        (commit_position(64, term_id=TERM - 1), DropReason.WRONG_TERM),
        (commit_position(64), DropReason.UNKNOWN_MEMBER),
        (b"\x15\x00\x36\x00\x65\x00\x11\x00" + bytes(21), DropReason.MALFORMED),
        (b"\x15\x00\x36", DropReason.MALFORMED),
    ],
    ids=["stranger", "itself", "term behind", "position", "term", "cut", "commit of a term before", "commit", "schema", "cut header"],
)
def test_positions_that_no_member_tells_a_leader_are_dropped_and_counted(host: LogHost, message: bytes, reason: DropReason) -> None:
    host.connect_members()
    term = host.lead()
    member = host.publication(CONSENSUS_STREAM)
    before = term.commit.positions.reported()[1:]
    host.offer(member, message)
    host.settle()
    assert term.commit.positions.reported()[1:] == before
    assert host.agent.consensus_drops[reason] == host.agent.consensus_drops.total == 1
    assert host.took(ConsensusMessage) == []


def test_an_append_position_of_a_term_before_counts_as_life_and_not_as_a_position(host: LogHost) -> None:
    host.connect_members()
    term = host.lead()
    member = host.publication(CONSENSUS_STREAM)
    host.recording_counter.value = 640
    host.at(10_100)
    host.offer(member, append_position(1, 640, term_id=TERM - 1))
    host.settle()
    assert host.commit_counter.value == 0
    assert term.commit.positions.reported()[1] == ReportedPosition(1, TERM - 1, 640, 10_100)


def test_the_conductor_sees_append_positions_of_members_that_catch_up(host: LogHost) -> None:
    host.connect_members()
    host.lead()
    member = host.publication(CONSENSUS_STREAM)
    host.recording_counter.value = 640
    old_version = append_position(2, 320)
    old_version = b"\x14" + old_version[1:-1]
    messages = [append_position(1, 64), append_position(1, 96, flags=1), append_position(2, 128), append_position(2, 160, flags=None)]
    for message in (*messages, old_version):
        host.offer(member, message)
    assert [event.message for event in host.took(ConsensusMessage)] == messages[1:2]
    assert host.commit_counter.value == 320
    host.proxy.watch_member(2, is_watched=True)
    host.settle()
    for message in messages:
        host.offer(member, message)
    assert [event.message for event in host.took(ConsensusMessage)] == messages[1:]
    host.proxy.watch_member(2, is_watched=False)
    host.offer(member, messages[2])
    assert host.took(ConsensusMessage) == []


def test_what_a_canvass_told_the_conductor_counts_for_the_leader(host: LogHost) -> None:
    host.connect_members()
    term = host.lead()
    host.recording_counter.value = 640
    host.at(10_500)
    host.proxy.update_member(1, 640, is_of_term=False)
    host.settle()
    assert term.commit.positions.reported()[1] == ReportedPosition(1, -1, 640, 10_500)
    assert host.commit_counter.value == 0
    host.proxy.update_member(1, 640, is_of_term=True)
    host.settle()
    assert host.commit_counter.value == 640


def test_a_recording_that_stops_is_a_fault_of_the_term(hosts: Callable[..., LogHost]) -> None:
    host = hosts(member_ids=(0,))
    term = host.lead()
    host.recording_counter.value = 320
    host.settle()
    assert host.commit_counter.value == 320
    host.recording_counter.close()
    host.until(lambda: any(isinstance(event, TermFaulted) for event in host.seen), "the end of the counter")
    assert host.took(TermFaulted) == [TermFaulted(term, TermFault.RECORDING_STOPPED)]
    assert host.commit_counter.value == 320


def test_a_term_begins_with_what_followers_told_in_the_election(host: LogHost) -> None:
    host.connect_members()
    member = host.publication(CONSENSUS_STREAM)
    host.recording_counter.value = 640
    messages = [append_position(1, 320), append_position(7, 640), append_position(0, 640), append_position(2, -5)]
    for message in messages:
        host.offer(member, message)
    assert [event.message for event in host.took(ConsensusMessage)] == messages[:1]
    assert host.agent.consensus_drops.total == 3
    host.at(10_100)
    term = host.lead()
    assert host.commit_counter.value == 320
    assert term.commit.positions.reported() == [
        ReportedPosition(0, TERM, 640, 10_100),
        ReportedPosition(1, TERM, 320, 10_000),
        ReportedPosition(2, -1, -1, 10_100),
    ]


# A follower


def test_a_follower_tells_what_it_has_recorded_at_once_and_each_interval(host: LogHost) -> None:
    host.connect_members()
    term = host.follow(append_position=64)
    member = host.publication(CONSENSUS_STREAM)
    assert host.sent[1].poll() == []
    host.recording_counter.value = 128
    host.at(10_050)
    host.at(10_249)
    assert host.sent[1].poll() == [append_position(0, 128)]
    host.offer(member, commit_position(0))
    host.settle()
    host.at(10_250)
    assert host.sent[1].poll() == [append_position(0, 128)]
    assert host.sent[2].poll() == []
    assert host.invoker.next_deadline_ns() == 10_450
    assert term.commit.time_of_last_log_update_ns == 10_249


def test_a_follower_sends_its_position_as_soon_as_there_is_a_publication(host: LogHost) -> None:
    host.follow()
    host.recording_counter.value = 64
    host.settle()
    host.connect_members()
    assert host.sent[1].poll() == [append_position(0, 64)]
    assert host.agent.consensus_drops.total == 0


def test_a_follower_whose_leader_is_silent_stops_and_says_so_once(host: LogHost) -> None:
    host.connect_members()
    term = host.follow()
    member = host.publication(CONSENSUS_STREAM)
    host.at(10_500)
    host.offer(member, commit_position(64))
    host.offer(member, commit_position(64, leader_id=2))
    host.offer(member, commit_position(64, term_id=TERM - 1))
    host.settle()
    host.at(11_499)
    assert host.took(TermFaulted) == []
    host.sent[1].poll()
    host.at(11_500)
    assert host.took(TermFaulted) == [TermFaulted(term, TermFault.SILENT_LEADER)]
    host.recording_counter.value = 64
    host.at(20_000)
    assert host.sent[1].poll() == []
    assert host.took(TermFaulted) == []
    assert host.agent.consensus_drops[DropReason.UNKNOWN_MEMBER] == host.agent.consensus_drops[DropReason.WRONG_TERM] == 1


def test_a_follower_that_is_to_end_lets_its_leader_be_silent(host: LogHost) -> None:
    host.connect_members()
    host.follow()
    host.proxy.terminate()
    host.at(20_000)
    assert host.took(TermFaulted) == []
    assert len(host.sent[1].poll()) == 1


def test_a_commit_position_of_a_later_term_and_all_other_messages_are_the_conductors(host: LogHost) -> None:
    host.follow()
    member = host.publication(CONSENSUS_STREAM)
    canvass = CanvassPosition(
        log_leadership_term_id=1, log_position=2, leadership_term_id=3, follower_member_id=2, protocol_version=65536
    ).encode()
    messages = [canvass, commit_position(64, term_id=TERM + 1), append_position(2, 64), canvass + bytes(5_000)]
    for message in messages:
        host.offer(member, message)
    assert [event.message for event in host.took(ConsensusMessage)] == messages
    host.proxy.end_term()
    host.offer(member, commit_position(64))
    assert [event.message for event in host.took(ConsensusMessage)] == [commit_position(64)]


def test_messages_of_members_that_find_no_room_are_dropped_and_positions_go_on(hosts: Callable[..., LogHost]) -> None:
    host = hosts(message_bytes_max=1_000)
    term = host.follow()
    member = host.publication(CONSENSUS_STREAM)
    for _ in range(50):
        while member.offer(append_position(2, 64)) < 0:
            host.driver.invoker.invoke()
    while member.offer(commit_position(960)) < 0:
        host.driver.invoker.invoke()
    for _ in range(10):
        host.invoker.invoke()
    assert term.commit.notified_commit_position == 960
    kept = 1_000 // 29
    assert len(host.took(ConsensusMessage)) == kept
    assert host.agent.consensus_drops[DropReason.NO_ROOM] == 50 - kept


# The log of a follower


def test_a_follower_consumes_what_is_committed_and_recorded(host: LogHost) -> None:
    host.connect_members()
    host.follow()
    member = host.publication(CONSENSUS_STREAM)
    publication, log = host.follow_log()
    for number in range(10):
        publication.offer(session_message(7, bytes(32), timestamp=1_000 + number))
    assert publication.position == 960
    host.offer(member, commit_position(480))
    host.settle()
    assert log.position == 0, "nothing is recorded"
    host.recording_counter.value = 288
    host.settle()
    assert (log.position, log.cluster_time, host.commit_counter.value) == (288, 1_002, 288)
    host.recording_counter.value = 960
    host.settle()
    assert (log.position, log.cluster_time, host.commit_counter.value) == (480, 1_004, 480)
    host.proxy.notify_commit(960)
    host.settle()
    assert (log.position, host.commit_counter.value) == (960, 960)


def test_the_conductor_gets_events_of_the_log_in_order_and_some_hold_it(host: LogHost) -> None:
    timer = TimerEvent(leadership_term_id=TERM, correlation_id=9, timestamp=0).encode()
    close = SessionCloseEvent(leadership_term_id=TERM, cluster_session_id=7, timestamp=0, close_reason=CloseReason.TIMEOUT).encode()
    action = ClusterActionRequest(leadership_term_id=TERM, log_position=0, timestamp=0, action=ClusterAction.SUSPEND, flags=0).encode()
    new_term = NewLeadershipTermEvent(
        leadership_term_id=TERM,
        log_position=0,
        timestamp=0,
        term_base_log_position=64,
        leader_member_id=0,
        log_session_id=3,
        time_unit=ClusterTimeUnit.MILLIS,
        app_version=0,
    ).encode()
    foreign = b"\x04\x00\x01\x00\x09\x00\x00\x00" + bytes(4_000)
    publication, log = host.follow_log(FOREVER, is_bounded=False)
    messages = [timer, session_message(7, b"x"), close, action, timer, new_term, foreign, session_message(7, b"", timestamp=3), close]
    positions: dict[bytes, int] = {}
    for message in messages:
        assert publication.offer(message) > 0
        positions.setdefault(message, publication.position)
    first = host.took(LogMessage)
    assert [(event.message, event.is_held) for event in first] == [(timer, False), (close, False), (action, True)]
    assert [event.position for event in first] == [positions[timer], positions[close], positions[action]]
    assert log.position == positions[action]
    host.proxy.resume_log()
    assert [(event.message, event.is_held) for event in host.took(LogMessage)] == [(timer, False), (new_term, True)]
    host.proxy.resume_log()
    assert [(event.message, event.is_held) for event in host.took(LogMessage)] == [(foreign, True)]
    assert log.cluster_time == 0
    host.proxy.resume_log()
    assert [(event.message, event.is_held) for event in host.took(LogMessage)] == [(close, False)]
    assert log.cluster_time == 3
    assert log.position == publication.position


def test_messages_of_services_in_the_log_tell_how_far_each_has_come(host: LogHost) -> None:
    publication, log = host.follow_log(FOREVER, is_bounded=False)
    lowest = -(1 << 63)
    for session_id in (lowest + 1, lowest + 2, lowest + (3 << 56) + 9, 7):
        publication.offer(session_message(session_id, b""))
    host.settle()
    assert [log.service_session_id(number) for number in range(5)] == [lowest + 2, 0, 0, lowest + (3 << 56) + 9, 0]
    with pytest.raises(IndexError, match="expected 0 to 127, actual 128"):
        log.service_session_id(128)


def test_a_replay_is_consumed_to_its_limits_and_given_back(host: LogHost) -> None:
    publication, log = host.follow_log(288, is_bounded=False)
    for _ in range(10):
        publication.offer(session_message(7, bytes(32)))
    assert host.took(LogReached) == [LogReached(log, 288)]
    host.proxy.limit_log(480)
    assert host.took(LogReached) == [LogReached(log, 480)]
    assert host.commit_counter.value == 480
    host.proxy.remove_log()
    assert host.took(LogReturned) == [LogReturned(log, LogEnd.REMOVED, 480)]
    assert log.image.loan.is_returned


def test_a_cycle_consumes_no_more_of_a_log_than_its_limit(hosts: Callable[..., LogHost]) -> None:
    host = hosts(log_fragment_limit=2)
    publication, log = host.follow_log(FOREVER, is_bounded=False)
    for _ in range(5):
        publication.offer(session_message(7, bytes(32)))
    positions = []
    for _ in range(3):
        host.work()
        positions.append(log.position)
    assert positions == [192, 384, 480]


@pytest.mark.parametrize("is_consumed", [True, False])
def test_the_end_of_a_log_says_whether_all_of_it_was_consumed(host: LogHost, is_consumed: bool) -> None:
    publication, log = host.follow_log(96, is_bounded=False)
    publication.offer(session_message(7, bytes(32)))
    if not is_consumed:
        publication.offer(session_message(7, bytes(32)))
    host.settle()
    assert not log.is_stream_ended
    publication.close()
    if not is_consumed:
        log.image.loan.recall()
    host.until(lambda: any(isinstance(event, LogReturned) for event in host.seen), "the end of the log")
    assert host.took(LogReturned) == [LogReturned(log, LogEnd.OF_STREAM if is_consumed else LogEnd.IMAGE_CLOSED, 96)]
    host.until(lambda: log.is_stream_ended, "the end of the stream")


# Messages to members


def test_messages_of_the_conductor_are_sent_or_lost_and_answered(host: LogHost) -> None:
    early, late, strange = (OutboundMessage(append_position(0, number)) for number in range(3))
    host.proxy.send(1, early)
    assert host.took(MessageSent) == [MessageSent(early, NOT_CONNECTED)]
    host.connect_members()
    host.proxy.send(1, late)
    host.proxy.send(9, strange)
    assert [event.message for event in host.took(MessageSent) if event.position > 0] == [late]
    assert host.sent[1].poll() == [append_position(0, 1)]
    assert host.agent.consensus_drops[DropReason.UNSENT] == 2
    for reader in host.sent.values():
        reader.subscription.close()


def test_publications_to_members_are_given_back_when_they_end(host: LogHost) -> None:
    host.connect_members()
    assert host.took(PublicationReturned) == []
    host.sent[1].subscription.close()
    for loan in host.loans:
        loan.recall()
    assert {event.publication for event in host.took(PublicationReturned)} == set(host.loans)
    assert all(loan.is_returned for loan in host.loans)
