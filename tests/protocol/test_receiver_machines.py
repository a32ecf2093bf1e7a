"""Loss detection, receive window and status messages with literal times and positions."""

from __future__ import annotations

import pytest

from aerowire.protocol import receive_window
from aerowire.protocol.delay import OptimalMulticastDelay, StaticDelay
from aerowire.protocol.lifecycle import ImageLifecycle, ImageState
from aerowire.protocol.loss_detector import LossDetector
from aerowire.protocol.receive_window import ReceiveWindow
from aerowire.protocol.status_schedule import ConsumptionSchedule, StatusTimer

TERM = 64 * 1024


def test_reports_a_gap_after_its_delay_and_again_after_the_retry_delay() -> None:
    loss = LossDetector(StaticDelay(1_000, 100_000))
    assert loss.on_gap(5, 128, 64, 10_000)
    assert not loss.poll_report(10_999)
    assert loss.poll_report(11_000)
    assert not loss.on_gap(5, 128, 64, 12_000)
    assert not loss.poll_report(110_999)
    assert loss.poll_report(111_000)


def test_another_gap_replaces_the_active_one_and_restarts_the_delay() -> None:
    loss = LossDetector(StaticDelay(1_000))
    loss.on_gap(5, 128, 64, 0)
    assert loss.on_gap(5, 128, 96, 900)
    assert not loss.poll_report(1_500)
    assert loss.poll_report(1_900)
    assert (loss.term_id, loss.term_offset, loss.length) == (5, 128, 96)


def test_a_filled_gap_is_not_reported() -> None:
    loss = LossDetector(StaticDelay(1_000))
    loss.on_gap(5, 128, 64, 0)
    loss.on_no_gap()
    assert not loss.poll_report(10_000)


def test_zero_delay_reports_at_once() -> None:
    loss = LossDetector(StaticDelay(0))
    loss.on_gap(5, 0, 64, 7)
    assert loss.poll_report(7)


def test_window_takes_data_up_to_half_a_term_past_the_last_status_position() -> None:
    window = ReceiveWindow(position=4096, term_length=TERM, max_window_length=TERM // 2)
    assert window.classify_data(4096, TERM // 2) == receive_window.ACCEPT
    assert window.classify_data(4096 + 32, TERM // 2) == receive_window.OVER_RUN
    assert window.classify_data(4064, 32) == receive_window.RECENT
    assert window.classify_data(4096 - TERM // 2 - 32, 32) == receive_window.UNDER_RUN


def test_window_takes_heartbeats_down_to_a_term_behind() -> None:
    window = ReceiveWindow(position=2 * TERM, term_length=TERM, max_window_length=TERM // 2)
    assert window.classify_heartbeat(TERM) == receive_window.ACCEPT
    assert window.classify_heartbeat(TERM - 32) == receive_window.UNDER_RUN
    assert window.classify_heartbeat(2 * TERM + TERM // 2 + 32) == receive_window.OVER_RUN


def test_window_bottom_for_heartbeats_is_never_negative() -> None:
    window = ReceiveWindow(position=0, term_length=TERM, max_window_length=TERM // 2)
    assert window.classify_heartbeat(0) == receive_window.ACCEPT
    assert window.classify_heartbeat(-32) == receive_window.UNDER_RUN


def test_window_moves_with_each_status_message() -> None:
    window = ReceiveWindow(position=0, term_length=TERM, max_window_length=TERM // 2)
    window.on_status_message_sent(8192)
    assert (window.last_status_position, window.over_run_threshold) == (8192, 8192 + TERM // 2)


def test_consumption_is_told_past_a_quarter_of_the_window() -> None:
    consumption = ConsumptionSchedule(position=0, window_length=4096)
    assert not consumption.poll_change(1024, 4096, False)
    assert consumption.poll_change(1056, 4096, False)
    assert not consumption.poll_change(1056, 4096, False)


def test_a_changed_window_and_a_forced_message_are_told_at_once() -> None:
    consumption = ConsumptionSchedule(position=0, window_length=4096)
    assert consumption.poll_change(0, 2048, False)
    assert consumption.poll_change(0, 2048, True)


def test_status_goes_out_at_once_then_each_timeout_or_change() -> None:
    timer = StatusTimer(timeout_ns=200, now_ns=1_000)
    assert timer.due(0, 1_000)
    timer.on_sent(0, 1_000)
    assert not timer.due(0, 1_199)
    assert timer.due(0, 1_200)
    assert timer.due(1, 1_001)


def test_a_disabled_status_timer_still_tells_changes() -> None:
    timer = StatusTimer(timeout_ns=200, now_ns=0)
    timer.disable()
    assert not timer.timed_out(10_000)
    assert timer.due(1, 10_000)


def test_image_states_only_grow() -> None:
    life = ImageLifecycle(status_message_timeout_ns=200, liveness_timeout_ns=10_000, now_ns=0)
    assert life.activate(1)
    assert not life.activate(2)
    assert life.drain(100)
    assert not life.drain(101)
    assert not life.drain_time_over(1_099)
    assert life.drain_time_over(1_100)
    life.linger(1_100)
    assert not life.linger_over(True, 11_099)
    assert life.linger_over(True, 11_100)
    assert life.linger_over(False, 1_101)
    life.finish()
    assert life.state() == ImageState.DONE


def test_multicast_delays_are_random_within_the_backoff_and_mostly_long() -> None:
    delays = OptimalMulticastDelay(10_000_000, 10, 7)
    drawn = [delays.delay_ns for _ in range(5_000)]
    assert all(0 <= delay <= 10_000_000 for delay in drawn)
    assert len(set(drawn)) > 4_900
    # With ten that miss the same, the first one asks early on average and most of the others late.
    median = sorted(drawn)[len(drawn) // 2]
    assert 7_000_000 < median < 8_500_000
    assert min(drawn) < 500_000
    assert delays.retry_ns <= 10_000_000


def test_multicast_delays_follow_their_seed() -> None:
    def draw(seed: int) -> list[int]:
        delays = OptimalMulticastDelay(10_000_000, 10, seed)
        return [delays.delay_ns for _ in range(10)]

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


def test_a_group_of_one_or_no_backoff_is_possible_and_less_is_not() -> None:
    assert 0 <= OptimalMulticastDelay(10_000_000, 1, 3).delay_ns <= 10_000_000
    assert OptimalMulticastDelay(0, 10, 3).delay_ns == 0
    with pytest.raises(ValueError, match="group of at least 1"):
        OptimalMulticastDelay(10, 0, 3)
