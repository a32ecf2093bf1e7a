"""The tools on the files of official C drivers, beside what the official tools said of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from aerowire.tools.main import main

SIDES = ("A", "B")
LOGS = ("A/publications/5", "A/publications/6", "A/publications/8", "B/images/5", "B/images/6")


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("side", SIDES)
def test_stat_shows_what_aeron_stat_showed(snapshots: Path, side: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stat", "--dir", str(snapshots / side)]) == 0
    output = capsys.readouterr().out
    pattern = re.compile(r"^\s*(\d+):\s+([-\d,]+) - (.*?)\s*$", re.MULTILINE)
    ours, official = (pattern.findall(text) for text in (output, (snapshots / f"{side}.AeronStat.txt").read_text()))
    assert [(number, label) for number, _, label in ours] == [(number, label) for number, _, label in official]
    moving = ("client-heartbeat", "max cycle", "exceeded", "max time", "Bytes", "Status", "Heartbeats")
    still = [row for row in official if not any(part in row[2] for part in moving)]
    assert len(still) > 30
    assert set(still) <= set(ours)


@pytest.mark.parametrize("side", SIDES)
def test_errors_and_losses_are_those_that_the_official_tools_counted(
    snapshots: Path, side: str, capsys: pytest.CaptureFixture[str]
) -> None:
    errors = shown(capsys, "errors", "--dir", str(snapshots / side))["errors"]
    official = (snapshots / f"{side}.ErrorStat.txt").read_text()
    assert f"{len(errors)} distinct errors observed" in official
    assert all(error["text"].splitlines()[0] in official for error in errors)
    losses = shown(capsys, "loss", "--dir", str(snapshots / side))["losses"]
    rows = [line.split(",") for line in (snapshots / f"{side}.LossStat.txt").read_text().splitlines() if re.match(r"\d+,", line)]
    assert sorted(
        (item["observation_count"], item["total_bytes_lost"], item["session_id"], item["stream_id"]) for item in losses
    ) == sorted((int(row[0]), int(row[1]), int(row[4]), int(row[5])) for row in rows)


def test_streams_are_joined(snapshots: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sending = shown(capsys, "streams", "--dir", str(snapshots / "A"))
    assert len(sending["publications"]) == 3
    assert sending["driver"] == "silent"
    assert [len(item["subscribers"]) for item in sending["publications"] if item["channel"].startswith("aeron:ipc")] == [1]
    receiving = shown(capsys, "streams", "--dir", str(snapshots / "B"))
    assert {item["session_id"] for item in receiving["images"]} <= {item["session_id"] for item in sending["publications"]}
    assert sum(item["lost_bytes"] or 0 for item in receiving["images"]) > 0
    assert all(len(item["subscribers"]) == 1 for item in receiving["images"])


@pytest.mark.parametrize("name", LOGS)
def test_logs_are_without_damage(snapshots: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, "log", str(snapshots / f"{name}.logbuffer"), "--limit", "100000", "--hide-empty")
    entries = [entry for term in found["terms"] if term["state"] in {"active", "complete", "received"} for entry in term["entries"]]
    assert len(entries) > 10
    assert {(entry["kind"], tuple(entry.get("problems", ()))) for entry in entries} == {("frame", ())}


def test_the_cnc_file_is_shown_whole(snapshots: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, "cnc", "--dir", str(snapshots / "A"))
    last = found["sections"][-1]
    assert (snapshots / "A" / "cnc.dat").stat().st_size - found["header"]["file_page_size"] < last["offset"] + last["length"]
    assert found["to_driver"]["used"] == 0
    assert [client["version"] for client in found["clients"]] == ["1.53.0-SNAPSHOT"] * 4
    assert main(["cnc", "--dir", str(snapshots / "A")]) == 0
    assert "dead or stalled" in capsys.readouterr().out.splitlines()[0]
