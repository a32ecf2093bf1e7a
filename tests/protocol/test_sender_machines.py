"""Set-up and heartbeat timing, retransmission, liveness and flow control with literal times and positions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerowire.protocol import retransmit_handler
from aerowire.protocol.delay import StaticDelay
from aerowire.protocol.flow_control import UnicastFlowControl
from aerowire.protocol.lifecycle import PublicationLifecycle, PublicationState, UnblockTimer
from aerowire.protocol.receiver_liveness import ReceiverLiveness
from aerowire.protocol.retransmit_handler import RetransmitHandler
from aerowire.protocol.send_schedule import SendSchedule

TERM = 64 * 1024
MS = 1_000_000


def schedule() -> SendSchedule:
    return SendSchedule(setup_timeout_ns=100 * MS, heartbeat_timeout_ns=100 * MS, now_ns=0)


def test_setups_go_out_each_100_ms_until_the_first_status_message() -> None:
    timing = schedule()
    sent = []
    for now in range(0, 350):
        if timing.setup_due(now * MS):
            sent.append(now)
            timing.on_setup_sent(now * MS, False)
    assert sent == [0, 100, 200, 300]
    timing.on_status_message()
    assert not timing.setup_due(1_000 * MS)


def test_elicited_setups_are_limited_to_one_each_100_ms_and_end_with_receivers() -> None:
    timing = schedule()
    timing.on_status_message()
    sent = []
    for now in range(0, 250):
        timing.on_setup_elicited()
        if timing.setup_due(now * MS):
            sent.append(now)
            timing.on_setup_sent(now * MS, True)
    assert sent == [0, 100, 200]


def test_an_elicited_setup_is_repeated_while_there_are_no_receivers() -> None:
    timing = schedule()
    timing.on_status_message()
    timing.on_setup_elicited()
    timing.on_setup_sent(0, False)
    assert timing.setup_due(100 * MS)


def test_no_heartbeat_before_the_first_status_message() -> None:
    timing = schedule()
    assert not timing.heartbeat_due(10_000 * MS)
    timing.on_status_message()
    assert timing.heartbeat_due(10_000 * MS)


def test_heartbeats_follow_100_ms_after_the_last_data_and_setups_do_not_put_them_off() -> None:
    timing = schedule()
    timing.on_status_message()
    timing.on_sent(0)
    timing.on_setup_sent(50 * MS, True)
    assert not timing.heartbeat_due(99 * MS)
    assert timing.heartbeat_due(100 * MS)
    assert timing.next_deadline_ns() == 100 * MS


def handler(*, group: bool = False, delay: int = 0) -> RetransmitHandler:
    return RetransmitHandler(StaticDelay(delay), StaticDelay(10 * MS), group=group, max_resend=2)


def test_the_same_nak_is_ignored_for_the_linger_time() -> None:
    naks = handler()
    assert naks.on_nak(5, 64, 128, 0) == retransmit_handler.RESEND
    assert (naks.resend_term_id, naks.resend_term_offset, naks.resend_length) == (5, 64, 128)
    assert naks.on_nak(5, 64, 128, 9 * MS) == retransmit_handler.IGNORED
    assert naks.on_nak(5, 160, 32, 9 * MS) == retransmit_handler.IGNORED
    assert not naks.poll_resend(10 * MS + 1)
    assert naks.on_nak(5, 64, 128, 10 * MS + 1) == retransmit_handler.RESEND


def test_naks_for_two_ranges_in_turn_are_answered_once_each_within_the_linger() -> None:
    naks = handler()
    verdicts = [naks.on_nak(5, offset, 128, at) for at in range(100) for offset in (64, 4096)]
    assert verdicts == [retransmit_handler.RESEND] * 2 + [retransmit_handler.IGNORED] * 198
    assert not naks.poll_resend(10 * MS + 2)
    assert naks.on_nak(5, 64, 128, 10 * MS + 2) == retransmit_handler.RESEND


def test_an_overlapping_nak_gets_what_was_not_sent_yet() -> None:
    naks = handler()
    naks.on_nak(5, 1024, 1024, 0)
    assert naks.on_nak(5, 512, 3072, 1) == retransmit_handler.RESEND
    assert (naks.resend_term_offset, naks.resend_length) == (512, 512)
    assert (naks.rest_offset, naks.rest_length) == (1024, 2560)
    assert naks.on_nak(5, naks.rest_offset, naks.rest_length, 1) == retransmit_handler.RESEND
    assert (naks.resend_term_offset, naks.resend_length, naks.rest_length) == (2048, 1536, 0)
    assert naks.on_nak(5, 512, 3072, 2) == retransmit_handler.IGNORED
    assert naks.on_nak(6, 512, 3072, 2) == retransmit_handler.RESEND


def test_a_receiver_with_many_gaps_is_repaired_and_long_requests_wait_for_the_linger() -> None:
    naks = handler()
    for gap in range(64):
        assert naks.on_nak(5, gap * 8192, 1408, 0) == retransmit_handler.RESEND
    assert naks.on_nak(6, 0, 4096, 1) == retransmit_handler.RESEND
    assert naks.on_nak(6, 8192, 4128, 1) == retransmit_handler.OVERFLOW
    assert naks.rest_length == 0
    assert naks.active_count == 64


def test_what_is_to_be_sent_later_is_sent_once_and_not_pushed_out_by_others() -> None:
    naks = handler()
    assert naks.on_nak(5, 0, 1408, 7, later=True) == retransmit_handler.SCHEDULED
    assert naks.on_nak(5, 0, 1408, 7) == retransmit_handler.IGNORED
    for gap in range(1, 200):
        naks.on_nak(5, gap * 8192, 1408, 7)
    assert naks.poll_resend(7)
    assert (naks.resend_term_id, naks.resend_term_offset, naks.resend_length) == (5, 0, 1408)
    assert not naks.poll_resend(7)
    assert naks.on_nak(5, 0, 1408, 8) == retransmit_handler.IGNORED


def test_of_ranges_that_all_wait_to_be_sent_none_is_pushed_out() -> None:
    naks = handler()
    for gap in range(64):
        assert naks.on_nak(5, gap * 8192, 1408, 7, later=True) == retransmit_handler.SCHEDULED
    assert naks.on_nak(6, 0, 1408, 7) == retransmit_handler.OVERFLOW
    sent = []
    while naks.poll_resend(7):
        sent.append(naks.resend_term_offset)
    assert sent == [gap * 8192 for gap in range(64)]


@given(st.lists(st.tuples(st.integers(0, 64), st.integers(1, 64), st.integers(0, 4)), max_size=100), st.booleans())
def test_no_byte_is_sent_twice_within_the_linger(asked: list[tuple[int, int, int]], group: bool) -> None:
    naks = RetransmitHandler(StaticDelay(0), StaticDelay(10 * MS), group=group, max_resend=16)
    sent: dict[int, int] = {}
    now = 0
    for block, blocks, wait_ms in asked:
        now += wait_ms * MS
        while naks.poll_resend(now):
            raise AssertionError("nothing was scheduled")
        offset, length = block * 8192, blocks * 8192
        while length > 0:
            if naks.on_nak(5, offset, length, now) == retransmit_handler.RESEND:
                for byte in range(naks.resend_term_offset, naks.resend_term_offset + naks.resend_length, 8192):
                    assert byte not in sent or now - sent[byte] >= 10 * MS
                    sent[byte] = now
            offset, length = naks.rest_offset, naks.rest_length


def test_a_group_has_a_pool_and_overflows_it() -> None:
    naks = handler(group=True)
    assert naks.on_nak(5, 0, 32, 0) == retransmit_handler.RESEND
    assert naks.on_nak(5, 64, 32, 0) == retransmit_handler.RESEND
    assert naks.on_nak(5, 128, 32, 0) == retransmit_handler.OVERFLOW


def test_a_delayed_resend_comes_after_its_delay_once() -> None:
    naks = handler(delay=5 * MS)
    assert naks.on_nak(5, 0, 32, 0) == retransmit_handler.SCHEDULED
    assert not naks.poll_resend(5 * MS)
    assert naks.poll_resend(5 * MS + 1)
    assert not naks.poll_resend(5 * MS + 2)


def test_nothing_is_sent_for_an_empty_range() -> None:
    assert handler().on_nak(5, 0, 0, 0) == retransmit_handler.IGNORED


def test_receivers_are_forgotten_after_their_silence() -> None:
    liveness = ReceiverLiveness()
    assert liveness.on_status_message(1, 0)
    assert not liveness.on_status_message(1, 100)
    assert liveness.on_status_message(2, 150)
    assert liveness.on_idle(1_099, 1_000) == 0
    assert liveness.on_idle(1_100, 1_000) == 1
    assert liveness.on_remote_close(2)
    assert not liveness.on_remote_close(2)
    assert liveness.count == 0


def test_forged_receivers_beyond_4096_are_not_remembered() -> None:
    liveness = ReceiverLiveness()
    assert [liveness.on_status_message(receiver_id, 0) for receiver_id in range(100_000)].count(True) == 4_096
    assert liveness.is_full
    assert liveness.count == 4_096
    assert not liveness.on_status_message(5, 1)
    assert not liveness.is_full


def test_many_receivers_are_remembered() -> None:
    liveness = ReceiverLiveness()
    for receiver_id in range(1000):
        liveness.on_status_message(receiver_id, receiver_id)
    assert liveness.on_idle(1_000, 500) == 501
    assert liveness.next_deadline_ns(500) == 1_001


@pytest.mark.parametrize(("offset", "length", "expected"), [(0, 128, 128), (TERM - 64, 128, 64), (0, TERM, TERM)])
def test_retransmissions_end_with_the_term(offset: int, length: int, expected: int) -> None:
    assert UnicastFlowControl(16, 128 * 1024).retransmission_length(offset, length, TERM) == expected


def test_retransmissions_are_clipped_to_windows() -> None:
    assert UnicastFlowControl(2, 128 * 1024).retransmission_length(0, 1 << 24, 1 << 24) == 256 * 1024


def test_a_closed_publication_drains_lingers_and_is_done() -> None:
    life = PublicationLifecycle(linger_ns=5_000)
    life.on_closed(False)
    assert life.state() == PublicationState.DRAINING
    life.on_drained(100)
    assert not life.poll_done(False, 5_099)
    assert life.poll_done(False, 5_100)
    assert life.state() == PublicationState.DONE


def test_a_confirmed_end_cuts_the_linger_short() -> None:
    life = PublicationLifecycle(linger_ns=5_000)
    life.on_closed(False)
    life.on_drained(100)
    assert life.poll_done(True, 101)


def test_a_revoked_publication_is_not_drained_but_waits_for_its_close() -> None:
    life = PublicationLifecycle(linger_ns=0)
    life.on_revoked(10)
    assert life.state() == PublicationState.LINGER
    assert not life.poll_done(False, 100)
    life.on_closed(True)
    assert life.poll_done(False, 100)


def test_unblocks_when_consumers_stand_still_before_something() -> None:
    timer = UnblockTimer(timeout_ns=15, position=0, now_ns=0)
    assert not timer.poll_unblock(0, True, 15)
    assert timer.poll_unblock(0, True, 16)
    assert not timer.poll_unblock(32, True, 17)
    assert not timer.poll_unblock(32, False, 100)
    assert not timer.poll_unblock(32, True, 110)
