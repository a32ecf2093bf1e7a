"""The error log and the loss report."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerowire.ipc.error_log import DistinctErrorLog, ErrorObservation, read_errors
from aerowire.ipc.loss_report import LossEntry, LossReport, read_loss


def test_same_error_is_counted_not_repeated() -> None:
    buffer = bytearray(4096)
    log = DistinctErrorLog(buffer)
    assert log.record("one", 10)
    assert log.record("two", 20)
    assert log.record("one", 30)
    assert read_errors(buffer) == [ErrorObservation(2, 10, 30, "one"), ErrorObservation(1, 20, 20, "two")]
    assert read_errors(buffer, since_ms=25) == [ErrorObservation(2, 10, 30, "one")]
    assert log.distinct_count == 2


def test_key_joins_errors_whose_texts_differ() -> None:
    buffer = bytearray(4096)
    log = DistinctErrorLog(buffer)
    log.record("lost 5 bytes", 1, key="lost")
    log.record("lost 6 bytes", 2, key="lost")
    assert read_errors(buffer) == [ErrorObservation(2, 1, 2, "lost 5 bytes")]


def test_full_log_still_counts_what_it_knows() -> None:
    buffer = bytearray(64)
    log = DistinctErrorLog(buffer)
    assert log.record("x" * 40, 1)
    assert not log.record("y", 2)
    assert log.record("x" * 40, 3)
    assert read_errors(buffer) == [ErrorObservation(2, 1, 3, "x" * 40)]


def test_reopened_log_goes_on() -> None:
    buffer = bytearray(4096)
    DistinctErrorLog(buffer).record("old", 1)
    log = DistinctErrorLog(buffer)
    log.record("old", 2)
    log.record("new é", 3)
    assert [(seen.observation_count, seen.text) for seen in read_errors(buffer)] == [(2, "old"), (1, "new é")]


@pytest.mark.parametrize("length", [3, 23, 10_000, -5])
def test_damaged_error_log_ends_the_reading(length: int) -> None:
    buffer = bytearray(256)
    DistinctErrorLog(buffer).record("good", 1)
    buffer[32:36] = length.to_bytes(4, "little", signed=True)
    assert [seen.text for seen in read_errors(buffer)] == ["good"]


def test_loss_is_summed_per_entry() -> None:
    buffer = bytearray(4096)
    report = LossReport(buffer)
    entry = report.create(100, 10, -1, 2, "aeron:udp?endpoint=x", "127.0.0.1:1")
    assert entry == 0
    report.observe(entry, 50, 20)
    other = report.create(1, 30, 3, 4, "aeron:ipc", "aeron:ipc")
    assert other is not None
    assert read_loss(buffer) == [
        LossEntry(2, 150, 10, 20, -1, 2, "aeron:udp?endpoint=x", "127.0.0.1:1"),
        LossEntry(1, 1, 30, 30, 3, 4, "aeron:ipc", "aeron:ipc"),
    ]
    with pytest.raises(ValueError, match="loss entry: expected one that create returned"):
        report.observe(7, 1, 1)


def test_full_loss_report_takes_no_more() -> None:
    report = LossReport(bytearray(128))
    assert report.create(1, 1, 1, 1, "c" * 20, "s") is not None
    assert report.create(1, 1, 1, 1, "c" * 100, "s") is None


def walk_as_c_does(buffer: bytes) -> list[int]:
    """Step through a report as the C reader does: by lengths that are not aligned."""
    offset, found = 0, []
    while offset + 48 <= len(buffer) and int.from_bytes(buffer[offset : offset + 8], "little") > 0:
        found.append(offset)
        channel = int.from_bytes(buffer[offset + 40 : offset + 44], "little")
        source_at = offset + 44 + -(-channel // 4) * 4
        source = int.from_bytes(buffer[source_at : source_at + 4], "little")
        offset += -(-(48 + channel + source) // 64) * 64
    return found


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 60)), min_size=1, max_size=10))
def test_java_and_c_readers_find_the_same_entries(lengths: list[tuple[int, int]]) -> None:
    buffer = bytearray(8192)
    report = LossReport(buffer)
    entries = [report.create(1, 1, 1, number, "c" * channel, "s" * source) for number, (channel, source) in enumerate(lengths)]
    assert walk_as_c_does(bytes(buffer)) == entries
    assert [(entry.stream_id, len(entry.channel), len(entry.source)) for entry in read_loss(buffer)] == [
        (number, channel, source) for number, (channel, source) in enumerate(lengths)
    ]
