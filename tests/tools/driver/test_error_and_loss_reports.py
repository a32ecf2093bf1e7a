"""`aerowire errors` and `loss`: what drivers have met and lost, also after their end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aerowire.archive.files.mark_file import ArchiveDetails, ArchiveMarkFile
from aerowire.base.errors import AerowireError
from aerowire.client import Aeron
from aerowire.driver.media_driver import MediaDriver
from aerowire.ipc.cnc import CncFile
from aerowire.ipc.error_log import DistinctErrorLog
from aerowire.ipc.loss_report import LossReport
from aerowire.memory.region import Region
from aerowire.system.ports import Ports
from aerowire.tools.driver.saved_errors import SavedError, saved_errors
from aerowire.tools.main import main

REFUSED = "aeron:udp?endpoint=localhost:99999"
SAVED = """
3 observations from 2026-01-02 03:04:05.006+0000 to 2026-01-02 03:05:05.006+0000 for:
java.lang.IllegalStateException: first
\tat io.aeron.Somewhere

1 observations from 2026-01-02 03:04:05.006+0000 to 2026-01-02 03:04:05.006+0000 for:
second

2 distinct errors observed.
"""


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


@pytest.fixture
def failing_driver(tmp_path: Path) -> str:
    """The directory of a driver that has ended, after a refused command."""
    directory = str(tmp_path / "driver")
    with (
        MediaDriver.launch(aeron_dir=directory, threading_mode="SHARED", environ={}),
        Aeron.connect(aeron_dir=directory) as aeron,
        pytest.raises(AerowireError),
    ):
        aeron.add_publication(REFUSED, 1)
    return directory


def test_reads_what_a_driver_saved() -> None:
    first, second = saved_errors(SAVED)
    assert first == SavedError(
        3,
        "2026-01-02 03:04:05.006+0000",
        "2026-01-02 03:05:05.006+0000",
        "java.lang.IllegalStateException: first\n\tat io.aeron.Somewhere",
    )
    assert second.text == "second"
    assert saved_errors("") == []


def test_errors_of_an_ended_driver_are_there_until_another_saves_them(failing_driver: str, capsys: pytest.CaptureFixture[str]) -> None:
    (error,) = json.loads(printed(capsys, "errors", "--dir", failing_driver, "--json"))["errors"]
    assert error["count"] == 1
    assert REFUSED in error["text"]
    assert "1 distinct errors, observed 1 times" in printed(capsys, "errors", "--dir", failing_driver)
    with MediaDriver.launch(aeron_dir=failing_driver, threading_mode="INVOKER", environ={}, dir_delete_on_shutdown=True):
        capsys.readouterr()
        found = json.loads(printed(capsys, "errors", "--dir", failing_driver, "--saved", "--json"))
        assert found["errors"] == []
        assert [item["text"] for item in found["saved"][0]["errors"]] == [error["text"]]
        assert "no errors" in printed(capsys, "errors", "--dir", failing_driver)
    assert REFUSED in printed(capsys, "errors", "--dir", failing_driver, "--saved", "--brief")


def test_errors_of_another_file_begin_where_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mark.dat"
    with Region.create_file(path, 8192) as region:
        log = DistinctErrorLog(memoryview(region)[4096:])
        for moment in (1_000, 61_000):
            log.record("disk full\n\tat a\n\tat b", moment)
    (error,) = json.loads(printed(capsys, "errors", "--file", str(path), "--offset", "4096", "--json"))["errors"]
    assert (error["count"], error["text"].splitlines()[0]) == (2, "disk full")
    assert "... 2 more lines" in printed(capsys, "errors", "--file", str(path), "--offset", "4096", "--brief")
    assert "no errors" in printed(capsys, "errors", "--file", str(path))
    assert main(["errors", "--file", str(path), "--offset", "8192"]) == 2
    assert "the log begins behind the file's end" in capsys.readouterr().err


def test_losses_are_shown_the_largest_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Region.create_file(tmp_path / "loss-report.dat", 4096) as region:
        report = LossReport(memoryview(region))
        report.create(100, 1_000, 7, 1001, "aeron:udp?endpoint=a:1", "127.0.0.1:5")
        entry = report.create(4096, 2_000, 8, 1002, 'aeron:udp?endpoint="b":1', "127.0.0.1:6")
        assert entry is not None
        report.observe(entry, 4096, 3_000)
    losses = json.loads(printed(capsys, "loss", "--dir", str(tmp_path), "--json"))["losses"]
    assert [(item["stream_id"], item["observation_count"], item["total_bytes_lost"]) for item in losses] == [
        (1002, 2, 8192),
        (1001, 1, 100),
    ]
    people = printed(capsys, "loss", "--dir", str(tmp_path)).splitlines()
    assert people[0].endswith("8.1 KiB lost on 2 streams")
    assert people[2].split()[:4] == ["8,192", "2", "1002", "8"]
    csv = printed(capsys, "loss", "--dir", str(tmp_path), "--csv").splitlines()
    assert csv[0].startswith("#OBSERVATION_COUNT,")
    assert csv[1].endswith(',8,1002,"aeron:udp?endpoint=""b"":1","127.0.0.1:6"')


def test_no_loss_report_is_an_error_and_no_loss_is_none(driver_dir: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no loss" in printed(capsys, "loss", "--dir", driver_dir)
    assert main(["loss", "--dir", str(tmp_path)]) == 2
    assert "no loss report; at " in capsys.readouterr().err


def test_a_file_that_is_no_error_log_is_not_one_without_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("passwd", "root:x:0:0:root:/root:/bin/bash\n" * 5), ("short", "root")):
        path = tmp_path / name
        path.write_text(text)
        assert main(["errors", "--file", str(path)]) == 2
        output, errors = capsys.readouterr()
        assert "no errors" not in output
        assert errors.startswith("aerowire: not an error log: length ")
        assert f"at {path}" in errors


def test_what_stands_before_damage_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mark.dat"
    with Region.create_file(path, 4096) as region:
        DistinctErrorLog(region).record("disk full", 1_000)
        memoryview(region)[40:44] = (-7).to_bytes(4, "little", signed=True)
    told = "damaged at offset 40: length -7, expected 24 to 4056, or 0 at the end"
    assert main(["errors", "--file", str(path)]) == 2
    output, errors = capsys.readouterr()
    assert "1 distinct errors, observed 1 times" in output
    assert "disk full" in output
    assert f"{told}; at {path}\n" in errors
    assert main(["errors", "--file", str(path), "--json"]) == 2
    shown = json.loads(capsys.readouterr().out)
    assert [error["text"] for error in shown["errors"]] == ["disk full"]
    assert shown["damage"] == {"offset": 40, "field": "length", "expected": "24 to 4056, or 0 at the end", "actual": -7}


def test_a_driver_s_damaged_error_log_is_told(failing_driver: str, capsys: pytest.CaptureFixture[str]) -> None:
    with CncFile.map(Path(failing_driver) / "cnc.dat") as cnc:
        log = cnc.error_log_buffer
        second = -(-int.from_bytes(log[:4], "little") // 8) * 8
        log[second : second + 4] = (5).to_bytes(4, "little")
        log.release()
    assert main(["errors", "--dir", failing_driver]) == 2
    output, errors = capsys.readouterr()
    assert REFUSED in output
    assert f"damaged at offset {second}: length 5" in errors
    assert f"1 distinct errors; damaged at offset {second}" in printed(capsys, "cnc", "--dir", failing_driver)


def test_an_offset_without_a_file_is_refused(driver_dir: str, capsys: pytest.CaptureFixture[str]) -> None:
    for offset in ("64", "0"):
        assert main(["errors", "--dir", driver_dir, "--offset", offset]) == 2
        assert "--offset; expected --file FILE" in capsys.readouterr().err


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]])
def test_a_file_that_is_no_loss_report_is_not_one_without_loss(tmp_path: Path, capsys: pytest.CaptureFixture[str], form: list[str]) -> None:
    (tmp_path / "loss-report.dat").write_bytes(bytes(range(255, 0, -1)) * 20)
    assert main(["loss", "--dir", str(tmp_path), *form]) == 2
    output, errors = capsys.readouterr()
    assert "no loss" not in output
    assert errors.startswith("aerowire: not a loss report: observation count -")


def test_losses_before_damage_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Region.create_file(tmp_path / "loss-report.dat", 4096) as region:
        LossReport(memoryview(region)).create(100, 1_000, 7, 1001, "aeron:udp?endpoint=a:1", "127.0.0.1:5")
        memoryview(region)[128:136] = (-1).to_bytes(8, "little", signed=True)
    assert main(["loss", "--dir", str(tmp_path)]) == 2
    output, errors = capsys.readouterr()
    assert "100 B lost on 1 streams; damaged at offset 128: observation count -1" in output
    assert "aeron:udp?endpoint=a:1" in output
    assert "damaged at offset 128" in errors


def test_errors_of_an_archive_and_of_the_one_before_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"control_channel": "", "local_control_channel": "", "events_channel": "", "aeron_directory": str(tmp_path / "none")}
    details = ArchiveDetails(archive_id=1, control_stream_id=10, local_control_stream_id=10, events_stream_id=30, **names)
    for text in ("the disk is full", "a torn frame was removed"):
        mark = ArchiveMarkFile.create(tmp_path, tmp_path, details, Ports.system(), error_buffer_length=1 << 20)
        mark.signal_ready(Ports.system().clock.now_ms())
        DistinctErrorLog(mark.error_log_buffer).record(text, 1_700_000_000_000)
        mark.close()
    found = json.loads(printed(capsys, "errors", "--archive", str(tmp_path), "--json"))
    assert ([item["text"] for item in found["errors"]], found["saved"]) == (["a torn frame was removed"], [])
    found = json.loads(printed(capsys, "errors", "--archive", str(tmp_path), "--saved", "--json"))
    assert [item["text"] for item in found["saved"][0]["errors"]] == ["the disk is full"]
    assert main(["errors", "--archive", str(tmp_path / "none")]) == 2
