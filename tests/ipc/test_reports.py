"""The error log and the loss report."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerowire.ipc.damage import Damage
from aerowire.ipc.error_log import DistinctErrorLog, ErrorObservation, read_errors, scan_errors
from aerowire.ipc.loss_report import LossEntry, LossReport, read_loss, scan_loss


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
    errors, damage = scan_errors(buffer)
    assert [seen.text for seen in errors] == ["good"]
    assert damage == Damage(32, "length", "24 to 224, or 0 at the end", length)


@pytest.mark.parametrize(
    ("at", "field", "actual"),
    [(4, "observation count", -1), (8, "last timestamp", -1), (8, "last timestamp", 1 << 60), (16, "first timestamp", -(1 << 40))],
)
def test_an_error_that_cannot_have_been_is_damage(at: int, field: str, actual: int) -> None:
    buffer = bytearray(256)
    DistinctErrorLog(buffer).record("good", 1)
    size = 4 if at == 4 else 8
    buffer[at : at + size] = actual.to_bytes(size, "little", signed=True)
    errors, damage = scan_errors(buffer)
    assert errors == []
    assert damage is not None
    assert (damage.offset, damage.field, damage.actual) == (0, field, actual)


def test_an_error_or_a_loss_that_is_being_written_is_no_damage() -> None:
    # Everything but what is written last: the length of an error, the first count of a loss; then an error's first count.
    errors, losses = bytearray(256), bytearray(256)
    DistinctErrorLog(errors).record("good", 1)
    LossReport(losses).create(1, 1, 1, 1, "c", "s")
    begun, whole = bytearray(errors), scan_errors(errors)
    begun[32:64] = b"\0\0\0\0" + errors[4:32]
    assert scan_errors(begun) == whole
    begun[32:36], begun[36:40] = errors[0:4], b"\0\0\0\0"
    (_, second), damage = scan_errors(begun)
    assert (second.observation_count, damage) == (0, None)
    begun = bytearray(losses)
    begun[64:128] = bytes(8) + losses[8:64]
    assert scan_loss(begun) == (read_loss(losses), None)


@pytest.mark.parametrize(
    ("at", "size", "field", "actual"),
    [
        (0, 8, "observation count", -1),
        (8, 8, "bytes lost", -1),
        (16, 8, "first timestamp", -1),
        (24, 8, "last timestamp", 1 << 62),
        (40, 4, "channel length", -1),
        (40, 4, "channel length", 4096),
        (48, 4, "source length", -1),
        (48, 4, "source length", 4096),
    ],
)
def test_a_loss_that_cannot_have_been_is_damage(at: int, size: int, field: str, actual: int) -> None:
    buffer = bytearray(256)
    report = LossReport(buffer)
    report.create(1, 1, 1, 1, "good", "good")
    report.create(1, 1, 1, 2, "char", "s")
    buffer[64 + at : 64 + at + size] = actual.to_bytes(size, "little", signed=True)
    entries, damage = scan_loss(buffer)
    assert [entry.stream_id for entry in entries] == [1]
    assert damage is not None
    assert (damage.offset, damage.field, damage.actual) == (64, field, actual)


@settings(max_examples=300, deadline=None)
@given(st.binary(min_size=64, max_size=512))
def test_foreign_bytes_are_read_within_bounds(foreign: bytes) -> None:
    for damage in (scan_errors(foreign)[1], scan_loss(foreign)[1]):
        assert damage is None or 0 <= damage.offset < len(foreign)


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
