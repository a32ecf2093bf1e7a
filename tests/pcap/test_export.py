"""`aerowire pcap export`: the rows of `scan` in every format, read back by others."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from aerowire.pcap import read_frames, scan
from aerowire.pcap.commands.shared import DONE, FINDING, UNUSABLE
from aerowire.pcap.table import SCHEMA
from aerowire.pcap.where import parse_texts
from aerowire.tools.main import main

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
LOSS = CAPTURES / "loss_data_sender_side.pcap"


def export(*arguments: object) -> int:
    return main(["pcap", "export", *map(str, arguments)])


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    """A row as the JSON format has it."""
    plain = {name: value.hex() if isinstance(value, bytes) else value for name, value in row.items() if value is not None}
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
