"""`aerowire rate`, and the histograms of `ping`: figures from literal times, and both ends on a driver."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Callable

import pytest

from aerowire.tools.measure.rates import Pace, RateReporter
from aerowire.tools.terminal.histogram import bar_of, buckets_of, rows_of

Run = Callable[..., tuple[int, str, str]]
SECOND_NS = 1_000_000_000
LIMIT_S = 60


def test_a_rate_is_of_the_interval_and_totals_are_of_all() -> None:
    reporter = RateReporter(now_ns=0)
    reporter.messages, reporter.length = 1000, 32_000
    assert reporter.poll(SECOND_NS - 1) is None
    first = reporter.poll(2 * SECOND_NS)
    assert first is not None
    assert (first.messages_per_s, first.bytes_per_s, first.messages) == (500, 16_000, 1000)
    reporter.messages, reporter.length = 4000, 3_128_000
    second = reporter.take(3 * SECOND_NS)
    assert (second.messages_per_s, second.messages, second.length) == (3000, 4000, 3_128_000)
    assert str(second) == "3000 msgs/sec, 3.096e+06 bytes/sec, totals 4000 messages 3 MB payloads"


def test_messages_become_due_at_the_rate() -> None:
    pace = Pace(now_ns=0, rate=10)
    assert pace.due(0) == 1
    pace.sent(1)
    assert [pace.due(moment) for moment in (0, SECOND_NS // 10 - 1, SECOND_NS // 10, SECOND_NS // 2)] == [0, 0, 1, 5]


def test_what_nobody_took_for_seconds_is_not_made_up_for() -> None:
    pace = Pace(now_ns=0, rate=10)
    pace.sent(1)
    assert pace.due(SECOND_NS) == 10
    assert pace.due(60 * SECOND_NS) == 1
    pace.sent(1)
    assert pace.due(60 * SECOND_NS) == 0


@pytest.mark.parametrize("samples", [[5], [1, 1, 1], [0, 1], list(range(1, 10_000)), [100] * 9_999 + [10**9]])
def test_a_histogram_counts_every_sample_once(samples: list[int]) -> None:
    buckets = buckets_of(samples)
    assert sum(bucket.samples for bucket in buckets) == len(samples)
    assert buckets[0].low <= min(samples)
    assert buckets[-1].high >= max(samples)
    assert all(earlier.high == later.low for earlier, later in itertools.pairwise(buckets))
    assert len(list(rows_of(buckets))) <= 16


def test_a_stall_has_a_row_of_its_own() -> None:
    buckets = buckets_of([*range(1_000, 2_000), *range(1_000, 2_000), 10**9])
    assert buckets[-1].samples == 1
    assert buckets[-1].high == 10**9
    assert buckets[-2].high < 2_100


def test_nothing_measured_is_no_histogram() -> None:
    assert buckets_of([]) == []
    assert list(rows_of([])) == []
    assert bar_of(0, 5) == ""
    assert [len(bar_of(value, 1_000_000)) for value in (1, 1_000, 1_000_000)] == [1, 20, 40]


@pytest.mark.parametrize(("length", "rate"), [(0, []), (3000, []), (32, ["--rate", "20000"])])
def test_what_one_end_sends_the_other_tells(
    start: Callable[..., subprocess.Popen[bytes]], run_command: Run, length: int, rate: list[str]
) -> None:
    common = ("aeron:ipc", "3001", "--messages", "2000", "--json")
    subscriber = start("rate", "subscribe", *common)
    code, output, errors = run_command("rate", "publish", *common, "--length", str(length), *rate)
    assert (code, errors) == (0, "")
    received, _ = subscriber.communicate(timeout=LIMIT_S)
    sent, got = (json.loads(lines.splitlines()[-1]) for lines in (output, received.decode()))
    assert (sent["messages"], sent["bytes"]) == (got["messages"], got["bytes"]) == (2000, 2000 * length)


def test_a_length_that_no_stream_takes_is_told(run_command: Run) -> None:
    code, _, errors = run_command("rate", "publish", "aeron:ipc", "1", "--length", "99999999999")
    assert code == 2
    assert "message is too long; at --length; expected 0 to 8192 bytes; got 99999999999" in errors


def test_a_rate_of_nothing_is_a_usage_error(run_command: Run) -> None:
    code, _, errors = run_command("rate", "publish", "aeron:ipc", "1", "--rate", "0")
    assert code == 2
    assert "expected a number of messages a second above 0" in errors
