"""`aerowire stat`: what is shown of which counters, live and once, and while the driver goes and comes."""

from __future__ import annotations

import argparse
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.base.errors import DriverDirectoryMissingError
from aerowire.base.text import printable
from aerowire.client import Aeron
from aerowire.codecs.flyweights.cnc import (
    ArchiveCounterKeyEncoder,
    RecordingPositionKeyEncoder,
    StreamCounterKeyEncoder,
    SystemCounterKeyEncoder,
)
from aerowire.codecs.tables.counters import CounterType
from aerowire.driver.media_driver import MediaDriver
from aerowire.ipc.counters import CounterInfo
from aerowire.tools.driver import stat
from aerowire.tools.driver.driver_files import ENDED, DriverFiles
from aerowire.tools.main import main
from aerowire.tools.terminal.figures import age_text, rate_text, size_text
from tests.support.waiting import wait_until

LIMIT_S = 30
CHANNEL = "aeron:udp?endpoint=localhost:40123"
STREAM_KEY = StreamCounterKeyEncoder.encode(registration_id=21, session_id=-7, stream_id=1001, channel=CHANNEL)
SENDER_POSITION = CounterInfo(50, CounterType.SND_POS, f"snd-pos: 21 -7 1001 {CHANNEL}", 4096, 21, 9, 0, STREAM_KEY)
BYTES_SENT = CounterInfo(0, CounterType.SYSTEM, "Bytes sent", 12, 0, -1, 0, SystemCounterKeyEncoder.encode(system_counter_id=0))
ARCHIVE_KEY = ArchiveCounterKeyEncoder.encode(archive_id=-42)
RECORDING_KEY = RecordingPositionKeyEncoder.encode(recording_id=8, session_id=-7, source_identity="aeron:ipc", archive=[ARCHIVE_KEY])
RECORDING_LABEL = f"rec-pos: 8 -7 1001 {CHANNEL} - archiveId=-42"
RECORDING = CounterInfo(51, CounterType.ARCHIVE_RECORDING_POSITION, RECORDING_LABEL, 2048, 77, 9, 0, RECORDING_KEY)
# An application may take a number of ours for a key of its own.
FOREIGN = CounterInfo(60, CounterType.SUB_POS, "mine", 1, 5, 5, 0, b"\xff" * 112)


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    stat.command(parser.add_subparsers())
    return parser.parse_args(["stat", *arguments])


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ([], [BYTES_SENT, SENDER_POSITION, RECORDING, FOREIGN]),
        (["--type", "2"], [SENDER_POSITION]),
        (["--type", "snd-pos", "--type", "system"], [BYTES_SENT, SENDER_POSITION]),
        (["--type", "[0-3]"], [BYTES_SENT, SENDER_POSITION]),
        (["--stream", "1"], []),
        (["--stream", "1001"], [SENDER_POSITION, RECORDING]),
        (["--session", "-7"], [SENDER_POSITION, RECORDING]),
        (["--session", "7"], []),
        (["--identity", "21"], [SENDER_POSITION]),
        (["--identity", "8"], [RECORDING]),
        (["--type", "archive-recording-position"], [RECORDING]),
        (["--identity", "0"], [BYTES_SENT]),
        (["--channel", "40123$"], [SENDER_POSITION, RECORDING]),
        (["--label", "^Bytes"], [BYTES_SENT]),
        (["--label", "^Bytes", "--type", "2"], []),
    ],
)
def test_filters_select(arguments: list[str], wanted: list[CounterInfo]) -> None:
    namespace = parsed(*arguments)
    assert [item for item in (BYTES_SENT, SENDER_POSITION, RECORDING, FOREIGN) if stat.is_wanted(namespace, item)] == wanted


def test_a_pattern_that_is_none_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed("--label", "(")
    assert "expected a regular expression, got '('" in capsys.readouterr().err


def test_sorts_by_value(driver_dir: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stat", "--dir", driver_dir, "--sort", "value", "--json"]) == 0
    values = [counter["value"] for counter in json.loads(capsys.readouterr().out)["counters"]]
    assert values == sorted(values, reverse=True)
    assert values[0] > 0


def test_rates_are_of_the_time_between_two_looks(driver_dir: str) -> None:
    moments = iter([10_000_000_000, 12_000_000_000])
    look = stat._Look(parsed("--type", "100"), lambda: next(moments))
    with (
        DriverFiles(driver_dir, LIMIT_S * 10**9) as files,
        Aeron.connect(aeron_dir=driver_dir) as aeron,
        aeron.add_counter(100, label="counted") as counter,
    ):
        first = look(files).to_dict()["counters"]
        counter.value = 500
        second = look(files).to_dict()["counters"]
    assert [row["rate"] for row in first] == [None]
    assert [row["rate"] for row in second] == [250.0]


def test_another_driver_in_the_directory_is_found(tmp_path: Path) -> None:
    directory = str(tmp_path / "driver")
    with DriverFiles(directory, LIMIT_S * 10**9) as files:
        with pytest.raises(DriverDirectoryMissingError):
            files.cnc()
        with MediaDriver.launch(aeron_dir=directory, threading_mode="INVOKER", environ={}):
            first = files.state()
        assert files.state().state == ENDED
        with MediaDriver.launch(aeron_dir=directory, threading_mode="INVOKER", environ={}, dir_delete_on_shutdown=True):
            second = files.state()
        assert second.start_timestamp_ms > first.start_timestamp_ms
        with pytest.raises(DriverDirectoryMissingError):
            files.state()


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    directory = str(tmp_path / "driver")
    with MediaDriver.launch(aeron_dir=directory, threading_mode="INVOKER", environ={}, dir_delete_on_shutdown=True):
        command = [sys.executable, "-m", "aerowire.tools.main", "stat", "--dir", directory, "--json", "--watch", "0.05", "--type", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        assert first["driver"] in {"alive", "starting"}
    yield process, directory
    process.kill()
    process.communicate()


def test_watching_goes_on_while_the_driver_goes_and_comes(watching: tuple[subprocess.Popen[str], str]) -> None:
    process, directory = watching
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    gone = next(found for line in lines if (found := json.loads(line))["driver"] is None)
    assert "no driver directory" in gone["error"]
    with MediaDriver.launch(aeron_dir=directory, threading_mode="INVOKER", environ={}) as driver:
        back = next(found for line in lines if (found := json.loads(line))["driver"] is not None)
        assert back["start_timestamp_ms"] == driver_start(driver)
    process.terminate()
    _, errors = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, errors) == (0, "")


def driver_start(driver: MediaDriver) -> int:
    with DriverFiles(driver.aeron_dir, LIMIT_S * 10**9) as files:
        return files.state().start_timestamp_ms


def test_a_terminal_is_watched_on_a_screen_of_its_own(driver_dir: str) -> None:
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "aerowire.tools.main", "stat", "--dir", driver_dir, "--watch", "0.05"]
    with subprocess.Popen(command, stdin=child, stdout=child, stderr=subprocess.PIPE, env={**os.environ, "TERM": "xterm"}) as process:
        os.close(child)
        shown = b""
        while shown.count(b"CnC v") < 3:
            shown += os.read(parent, 65536)
        process.terminate()
        wait_until(lambda: read_all(parent, process), "the end")
        assert process.wait(LIMIT_S) == 0
    assert b"\x1b[?1049h" in shown
    os.close(parent)


def read_all(descriptor: int, process: subprocess.Popen[bytes]) -> bool:
    try:
        os.read(descriptor, 65536)
    except OSError:
        return True
    return process.poll() is not None


def test_numbers_for_people() -> None:
    assert [size_text(length) for length in (0, 1023, 1024, 1536, 65536, 1 << 40, -2048)] == [
        *("0 B", "1023 B", "1 KiB", "1.5 KiB", "64 KiB", "1 TiB", "-2 KiB")
    ]
    assert [rate_text(rate) for rate in (None, 0.0, 0.25, 1234.5)] == ["", "", "0.25", "1,234"]
    assert [age_text(age) for age in (7, 15_000, 600_000, 7_500_000, 90_000_000)] == ["7 ms", "15 s", "10 min", "2 h 5 min", "1 d 1 h"]


def test_foreign_text_steers_no_terminal() -> None:
    assert printable("ping \x1b[2J\x07\u202e é\nnext") == "ping \\x1b[2J\\x07\\u202e é\\nnext"


def test_live_without_a_driver_to_begin_with_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stat", "--watch", "1", "--dir", "/nonexistent"]) == 2
    assert "start a media driver" in capsys.readouterr().err
