"""`aerowire pcap export`: the rows of `scan` in every format, read back by others."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pyarrow import feather

from aerowire.pcap import read_frames, scan
from aerowire.pcap.commands.shared import DONE, FINDING, UNUSABLE
from aerowire.pcap.table import SCHEMA
from aerowire.pcap.where import parse_texts
from aerowire.tools.main import main

CAPTURES = Path(__file__).parent.parent.parent / "data" / "captures"
LOSS = CAPTURES / "loss_data_sender_side.pcap"


def export(*arguments: object) -> int:
    return main(["pcap", "export", *map(str, arguments)])


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    """A row as the JSON format has it."""
    plain: dict[str, Any] = {name: value.hex() if isinstance(value, bytes) else value for name, value in row.items() if value is not None}
    for entry in plain.get("entries", ()):
        entry["address"] = entry["address"].hex()
    return plain


@pytest.mark.parametrize(("ending", "read"), [("parquet", pq.read_table), ("arrow", feather.read_table), ("feather", feather.read_table)])
def test_columnar_formats_hold_the_table(tmp_path: Path, ending: str, read: Any) -> None:
    target = tmp_path / f"frames.{ending}"
    assert export(LOSS, target, "--payload") == DONE
    assert read(target).replace_schema_metadata(None).equals(scan(LOSS, payload=True).to_table())
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


@pytest.mark.parametrize("name", ["loss_data_sender_side", "name_resolution"])
def test_json_has_a_line_for_each_frame(tmp_path: Path, name: str) -> None:
    path, target = CAPTURES / f"{name}.pcap", tmp_path / "frames.jsonl"
    assert export(path, target, "--payload") == DONE
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert rows == [as_json(row) for row in scan(path, payload=True).to_table().to_pylist()]


def test_csv_is_read_back_by_its_column_names(tmp_path: Path) -> None:
    target = tmp_path / "naks.csv"
    columns = "ts_ns,type,session_id,position,length,comment"
    assert export(LOSS, target, "--columns", columns, "--where", "type == NAK") == DONE
    with target.open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = read_frames(LOSS, where=[("type", "==", "NAK")], columns=columns.split(",")).to_pylist()
    assert expected
    assert rows == [{name: "" if value is None else str(value) for name, value in row.items()} for row in expected]


def test_standard_output_takes_rows_and_standard_error_the_report(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert export(LOSS, "-", "--format", "json", "--columns", "type", "--json") == DONE
    out, err = capfdbinary.readouterr()
    assert len(out.splitlines()) == read_frames(LOSS).num_rows == json.loads(err)["rows"]


def test_several_inputs_and_a_damaged_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(LOSS.read_bytes()[:-7])
    target = tmp_path / "frames.parquet"
    assert export(LOSS, cut, target) == FINDING
    assert pq.read_table(target)["path"].unique().to_pylist() == [str(LOSS), str(cut)]
    assert "damaged: corrupt in 0 places" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["out.xyz"], "no format has this ending; give --format, or one of .parquet"),
        (["out.csv", "--columns", "types"], "no column is called 'types'"),
        (["out.csv", "--where", "type ~ NAK"], "expected COLUMN OPERATION VALUE"),
        (["out.csv", "--where", "length > ten"], "'ten' is no value for column length, which is int32"),
        (["absent/out.csv"], "absent/out.csv: cannot be written: No such file or directory"),
    ],
)
def test_refuses_what_has_no_meaning(tmp_path: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(LOSS, tmp_path / arguments[0], *arguments[1:]) == UNUSABLE
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_what_was_there_before(tmp_path: Path) -> None:
    target = tmp_path / "frames.json"
    target.write_text("before")
    assert export(tmp_path / "absent.pcap", target) == UNUSABLE
    assert target.read_text() == "before"


def test_a_capture_that_is_read_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.pcap", "b.pcap"):
        shutil.copy(LOSS, tmp_path / name)
    (tmp_path / "link.pcap").symlink_to("b.pcap")
    for output in ("b.pcap", "link.pcap"):
        assert export(tmp_path / "a.pcap", tmp_path / "b.pcap", tmp_path / output, "--format", "csv") == UNUSABLE
        assert export(tmp_path, tmp_path / output, "--format", "csv") == UNUSABLE
        assert capsys.readouterr().err.count(f"{output}: cannot be written: it is one of the captures that are read") == 2
    assert (tmp_path / "b.pcap").read_bytes() == LOSS.read_bytes()


@pytest.mark.parametrize("kind", ["csv", "json", "arrow", "parquet"])
def test_a_pipe_stays_a_pipe_and_gets_what_a_file_gets(tmp_path: Path, kind: str) -> None:
    pipe, target = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        read = reader.submit(pipe.read_bytes)
        assert export(LOSS, pipe, "--format", kind) == export(LOSS, target, "--format", kind) == DONE
        assert read.result() == target.read_bytes()
    assert pipe.is_fifo()


@pytest.mark.parametrize("kind", ["csv", "json", "arrow", "parquet"])
def test_a_reader_of_standard_output_that_goes_is_no_error(kind: str) -> None:
    command = [sys.executable, "-m", "aerowire.tools.main", "pcap", "export", str(LOSS), "-", "--format", kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", DONE)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    link, target = tmp_path / "link.csv", tmp_path / "target.csv"
    link.symlink_to(target)
    assert export(LOSS, link) == DONE
    assert link.is_symlink()
    assert len(target.read_text().splitlines()) == 1 + read_frames(LOSS).num_rows


def test_a_device_without_room_is_an_error_and_stays_a_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    device = tmp_path / "device.csv"
    device.symlink_to("/dev/full")
    assert export(LOSS, device) == UNUSABLE
    assert "device.csv: cannot be written: No space left on device" in capsys.readouterr().err
    assert Path("/dev/full").is_char_device()


def test_what_another_export_has_begun_is_left_alone(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("before")
    (tmp_path / "frames.csv.partial").symlink_to(kept)
    assert export(LOSS, tmp_path / "frames.csv") == DONE
    assert kept.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["frames.csv", "frames.csv.partial", "kept"]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("type == NAK", ("type", "==", "NAK")),
        (" session_id in 7, -8 ", ("session_id", "in", [7, -8])),
        ("type not  in DATA,PAD", ("type", "not in", ["DATA", "PAD"])),
        ("position is not null", ("position", "is not null", None)),
        ("position is null", ("position", "is null", None)),
        ("ts_ns<=17", ("ts_ns", "<=", 17)),
        ("is_heartbeat = true", ("is_heartbeat", "=", True)),
        ("comment == not in the list", ("comment", "==", "not in the list")),
    ],
)
def test_reads_conditions_from_text(text: str, condition: tuple[str, str, Any]) -> None:
    assert parse_texts([text], SCHEMA) == [condition]
