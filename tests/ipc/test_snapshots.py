"""The files of official drivers, as the official tools read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aerowire.ipc.cnc import CncFile
from aerowire.ipc.error_log import read_errors
from aerowire.ipc.loss_report import LossEntry, read_loss
from aerowire.memory.region import Region


def official_counters(text: str) -> dict[int, tuple[int, str]]:
    """Parse AeronStat's lines: id, value with thousands separators, label."""
    lines = re.findall(r"^ *(\d+): +(-?[\d,]+) - (.*)$", text, re.MULTILINE)
    return {int(number): (int(value.replace(",", "")), label) for number, value, label in lines}


def moves(label: str) -> bool:
    """Whether a counter goes on moving on an idle driver between the copy of its file and the print."""
    return "heartbeat" in label.lower() or "cycle time" in label or label.startswith(("Bytes", "Status", "snd-lmt"))


@pytest.mark.parametrize("driver", ["A", "B"])
def test_counters_equal_aeronstat(snapshots: Path, driver: str) -> None:
    expected = official_counters((snapshots / f"{driver}.AeronStat.txt").read_text())
    with CncFile.map(snapshots / driver / "cnc.dat", writable=False) as cnc:
        found = {info.counter_id: (info.value, info.label) for info in cnc.counters_reader().for_each()}
    assert {number: label for number, (_, label) in found.items()} == {number: label for number, (_, label) in expected.items()}
    differing = [label for number, (value, label) in found.items() if value != expected[number][0]]
    assert [label for label in differing if not moves(label)] == []


@pytest.mark.parametrize("driver", ["A", "B"])
def test_header_is_what_the_official_driver_writes_by_default(snapshots: Path, driver: str) -> None:
    with CncFile.map(snapshots / driver / "cnc.dat", writable=False) as cnc:
        assert len(cnc.to_driver_buffer) == (1 << 20) + 768
        assert len(cnc.to_clients_buffer) == (1 << 20) + 128
        assert len(cnc.counters_values_buffer) * 4 == len(cnc.counters_metadata_buffer) == 32 << 20
        assert len(cnc.error_log_buffer) == 4 << 20
        assert (snapshots / driver / "cnc.dat").stat().st_size == 48_238_592
        assert cnc.client_liveness_timeout_ns == 10_000_000_000
        text = (snapshots / f"{driver}.AeronStat.txt").read_text()
        assert f"pid {cnc.pid}," in text
        assert cnc.check_driver(cnc.heartbeat_ms + 10, 1000) == cnc.heartbeat_ms


def test_same_parameters_make_a_file_of_the_same_layout(snapshots: Path, tmp_path: Path) -> None:
    with CncFile.map(snapshots / "A" / "cnc.dat", writable=False) as official:
        header = official.header
    with CncFile.create(
        tmp_path / "cnc.dat",
        to_driver_length=header["to_driver_buffer_length"],
        to_clients_length=header["to_clients_buffer_length"],
        counters_metadata_length=header["counters_metadata_buffer_length"],
        counters_values_length=header["counters_values_buffer_length"],
        error_log_length=header["error_log_buffer_length"],
        client_liveness_timeout_ns=header["client_liveness_timeout_ns"],
        start_timestamp_ms=header["start_timestamp_ms"],
        pid=header["pid"],
        file_page_size=header["file_page_size"],
        sparse=True,
    ) as ours:
        ours.publish()
        assert ours.header == header
        with Region.map_file(snapshots / "A" / "cnc.dat", writable=False) as theirs:
            assert len(theirs) == len(ours.region or b"")
            assert bytes(memoryview(theirs)[:128]) == bytes(memoryview(ours.region or b"")[:128])


def test_errors_equal_errorstat(snapshots: Path) -> None:
    with CncFile.map(snapshots / "A" / "cnc.dat", writable=False) as cnc:
        (error,) = read_errors(cnc.error_log_buffer)
    text = (snapshots / "A.ErrorStat.txt").read_text()
    assert error.observation_count == 1
    assert error.text.strip() in text
    assert at(error.first_timestamp_ms) in text
    with CncFile.map(snapshots / "B" / "cnc.dat", writable=False) as cnc:
        assert read_errors(cnc.error_log_buffer) == []


@pytest.mark.parametrize("driver", ["A", "B"])
def test_losses_equal_lossstat(snapshots: Path, driver: str) -> None:
    with Region.map_file(snapshots / driver / "loss-report.dat", writable=False) as region:
        found = [row(entry) for entry in read_loss(region)]
    lines = (snapshots / f"{driver}.LossStat.txt").read_text().splitlines()
    assert found == [line for line in lines if re.match(r"\d+,", line)]
    assert len(found) == {"A": 0, "B": 2}[driver]


def row(entry: LossEntry) -> str:
    """An entry as LossStat prints it."""
    return ",".join(
        str(value)
        for value in (
            entry.observation_count,
            entry.total_bytes_lost,
            at(entry.first_timestamp_ms),
            at(entry.last_timestamp_ms),
            entry.session_id,
            entry.stream_id,
            entry.channel,
            entry.source,
        )
    )


def at(epoch_ms: int) -> str:
    """A time as the official tools print it."""
    moment = datetime.fromtimestamp(epoch_ms // 1000, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{epoch_ms % 1000:03d}+0000"
