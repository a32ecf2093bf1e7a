"""`scan`: the rows of `read_frames`, over many files, by columns and by conditions."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pytest

from aerowire.pcap import CaptureError, Statistics, read_frames, scan

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
LOSS = CAPTURES / "loss_data_sender_side.pcap"


def plain(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata(None)


def test_gives_the_rows_of_each_file_after_the_other() -> None:
    paths = sorted(CAPTURES.glob("unicast_*.pcap"))
    found = scan(CAPTURES / "unicast_*.pcap")
    assert found.paths == tuple(map(str, paths))
    expected = pa.concat_tables([plain(read_frames(path)) for path in paths])
    assert found.to_table().equals(expected)
    assert found.to_reader().read_all().equals(expected)
    assert found.statistics.frames == expected.num_rows
    assert found.to_table()["path"].unique().to_pylist() == list(map(str, paths))


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.pcap")
    shutil.copy(LOSS, tmp_path / "b.pcap")
    assert scan(tmp_path).paths == (str(tmp_path / "b.pcap"),)


def test_counts_over_all_files() -> None:
    paths = [LOSS, CAPTURES / "unicast_simple.pcap"]
    found = scan(paths, ports=[1], columns=["type"])
    assert found.statistics == Statistics()
    assert found.to_table().num_rows == 0
    packets = 0
    for path in paths:
        one = scan(path)
        one.to_table()
        packets += one.statistics.packets
    assert found.statistics.packets == packets == sum(found.statistics.skipped.values())


@pytest.mark.parametrize(
    ("where", "keep"),
    [
        ([("type", "==", "NAK")], lambda row: row["type"] == "NAK"),
        (
            [("type", "in", ["NAK", "SM"]), ("packet_index", "<", 100)],
            lambda row: row["type"] in ("NAK", "SM") and row["packet_index"] < 100,
        ),
        ([[("type", "==", "SETUP")], [("frame_length", ">=", 100)]], lambda row: row["type"] == "SETUP" or row["frame_length"] >= 100),
        ([("receiver_id", "is null", None)], lambda row: row["receiver_id"] is None),
        ([("receiver_id", "is not null", None), ("type", "!=", "NAK")], lambda row: row["receiver_id"] is not None),
        ([("term_id", "not in", [0])], lambda row: row["term_id"] not in (0, None)),
        (
            [("position", ">", 10_000), ("position", "<=", 20_000)],
            lambda row: row["position"] is not None and 10_000 < row["position"] <= 20_000,
        ),
        ([("dropped", "=", True)], lambda row: row["dropped"]),
    ],
)
def test_conditions_choose_rows(where: list[Any], keep: Any) -> None:
    whole = plain(read_frames(LOSS))
    expected = [row for row in whole.to_pylist() if keep(row)]
    assert 0 < len(expected) < whole.num_rows or where[0] == ("dropped", "=", True)
    assert scan(LOSS, where=where).to_table().to_pylist() == expected
    assert plain(read_frames(LOSS, where=where)).to_pylist() == expected
    few = scan(LOSS, where=where, columns=["packet_index"]).to_table()
    assert few.to_pylist() == [{"packet_index": row["packet_index"]} for row in expected]


def test_what_conditions_leave_out_is_still_counted() -> None:
    found = scan(LOSS, where=[("type", "==", "RES")])
    assert found.to_table().num_rows == 0
    assert found.statistics.frames == read_frames(LOSS).num_rows


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"columns": ["types"]}, "no column is called 'types'; there are type, frame_length"),
        ({"where": [("types", "==", 1)]}, "no column is called 'types'"),
        ({"where": [("type", "like", "N%")]}, "operation 'like' of column type: expected one of =="),
        ({"where": [("packet_index", "<", "ten")]}, "'ten' is no value for column packet_index, which is int64"),
        ({"where": [("packet_index", "in", ["ten"])]}, "no value for column packet_index"),
        ({"where": ["type"]}, r"expected \(column, operation, value\)"),
    ],
)
def test_refuses_what_has_no_meaning(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        scan(LOSS, **arguments)


def test_says_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="the name of a capture is empty"):
        scan([""])
    with pytest.raises(CaptureError, match=r"absent\*: no such file, directory or match"):
        scan(tmp_path / "absent*")


def test_gives_data_frames_of_other_libraries() -> None:
    table = scan(LOSS).to_table()
    frame = scan(LOSS).to_pandas()
    assert list(frame.columns) == table.column_names
    assert str(frame["session_id"].dtype) == "int32[pyarrow]"
    assert frame["term_id"].isna().sum() == table["term_id"].null_count > 0
    polars = pytest.importorskip("polars", reason="polars is not installed (pip install polars)")
    assert scan(LOSS).to_polars().equals(polars.from_arrow(table))


def test_positions_go_on_over_terms_and_are_those_of_naks_too() -> None:
    table = scan(
        LOSS, columns=["type", "term_id", "term_offset", "initial_term_id", "term_length", "position", "is_heartbeat", "frame_length"]
    ).to_table()
    (setup,) = {(row["initial_term_id"], row["term_length"]) for row in table.to_pylist() if row["type"] == "SETUP"}
    pointing = table.filter(pc.is_in(table["type"], pa.array(["DATA", "PAD", "NAK"]))).to_pylist()
    assert [row["position"] for row in pointing] == [(row["term_id"] - setup[0]) * setup[1] + row["term_offset"] for row in pointing]
    others = table.filter(pc.is_in(table["type"], pa.array(["RTTM", "ERR"])))
    assert others["position"].null_count == others.num_rows
    beats = [row for row in table.to_pylist() if row["is_heartbeat"]]
    assert beats
    assert all(row["type"] == "DATA" and row["frame_length"] == 0 for row in beats)
