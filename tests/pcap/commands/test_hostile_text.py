"""Names and text in captures are shown as they are written, whatever they hold: no mark-up, no escape sequence, no further line."""

from __future__ import annotations

import csv
import io
import json
import re

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from aerowire.pcap.commands.export import WRITERS
from aerowire.pcap.commands.frames import _line
from aerowire.pcap.commands.shared import printable
from aerowire.pcap.commands.summary import _print_summary

HOSTILE = "[red]a[/red]\n9 frames\x1b[31m\u202e"
SHOWN = r"[red]a[/red]\n9 frames\x1b[31m\u202e"


def test_a_summary_shows_names_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    report = {"file": HOSTILE, "skipped": {HOSTILE: 1}, "frames_by_type": {}, "streams": [], "dropped_by_type": {}}
    counts = ("packets", "datagrams", "frames", "corrupt_records", "corrupt_bytes", "truncated_bytes", "truncated_datagrams")
    _print_summary({**report, **dict.fromkeys(counts, 1)})
    out = capsys.readouterr().out
    assert out.count(SHOWN) == 2
    assert "\n  corrupt in 1 places, 1 bytes passed over\n" in out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", out)


def test_a_frame_is_one_line() -> None:
    common = {"packet_index": 1, "ts_ns": 2, "src_address": "::1", "src_port": 3, "dst_address": "::1", "dst_port": 4, "type": "ERR"}
    frame = {**common, "flags": 0, "frame_length": 40, "session_id": 5, "stream_id": 6, "dropped": False, "error_message": HOSTILE}
    assert f"error_message={SHOWN}" in _line(frame)
    assert "\n" not in _line(frame)
    assert printable(HOSTILE) == SHOWN


def test_a_row_of_csv_is_one_line_and_json_keeps_the_text() -> None:
    batch = pa.record_batch({"message": [HOSTILE, 'plain, "größe"'], "naks": [[HOSTILE], None]})
    out = {kind: io.BytesIO() for kind in ("csv", "json")}
    for kind, file in out.items():
        with WRITERS[kind](file, batch.schema) as writer:
            writer.write_batch(batch)
    text = out["csv"].getvalue().decode()
    assert [line for line in text.split("\n") if not line.isprintable()] == []
    rows = list(csv.DictReader(text.splitlines()))
    assert [row["message"] for row in rows] == [SHOWN, 'plain, "größe"']
    assert [json.loads(line)["message"] for line in out["json"].getvalue().splitlines()] == [HOSTILE, 'plain, "größe"']
