"""`aerowire errors` and `loss`: what drivers have met and lost, also after their end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aerowire.base.errors import AerowireError
from aerowire.client import Aeron
from aerowire.driver.media_driver import MediaDriver
from aerowire.ipc.error_log import DistinctErrorLog
from aerowire.ipc.loss_report import LossReport
from aerowire.memory.region import Region
from aerowire.tools.main import main
from aerowire.tools.saved_errors import SavedError, saved_errors

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
