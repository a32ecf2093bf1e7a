"""`aerowire archive start`: an archive in a process of its own, ended in order or with its driver."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.archive import AeronArchive
from aerowire.client import Aeron
from aerowire.tools.archive.start import _properties
from aerowire.tools.dispatch import parse
from aerowire.tools.main import main
from tests.support.processes import LIMIT_S, Process, Workshop, open_workshop, wait_for_driver
from tests.support.waiting import wait_until

LOCAL = "aeron:ipc?term-length=64k"


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    with open_workshop(tmp_path) as workshop:
        yield workshop


def start(workshop: Workshop, driver_directory: Path, directory: Path, *more: str) -> Process:
    arguments = ("--dir", str(driver_directory), "--archive-dir", str(directory), "--threading", "shared", *more)
    process = workshop.start("archive", [sys.executable, "-m", "aerowire.tools.main", "archive", "start", *arguments])
    assert process.line(LIMIT_S).startswith(f"aerowire archive: pid {process.popen.pid}, SHARED, id ")
    return process


def _await_recording(client: AeronArchive, recording_id: int) -> None:
    wait_until(lambda: client.list_recording(recording_id) != [], "no recording")


def test_serves_until_it_is_told_to_end_and_starts_again(workshop: Workshop, tmp_path: Path) -> None:
    directory = workshop.directory()
    driver = workshop.driver(directory, {"aeron.threading.mode": "SHARED"})
    wait_for_driver(directory, driver)
    local = ("-Daeron.archive.control.channel.enabled=false", "--replication", "aeron:udp?endpoint=127.0.0.1:0", "--idle", "yield")
    for _ in range(2):
        archive = start(workshop, directory, tmp_path / "archive", *local)
        with AeronArchive.connect(aeron_dir=directory, control_request_channel=LOCAL, control_response_channel=LOCAL) as client:
            assert client.list_recordings() == []
        archive.popen.terminate()
        assert archive.popen.wait(LIMIT_S) == 0, archive.said()


def test_what_was_acknowledged_is_there_after_a_kill(workshop: Workshop, tmp_path: Path) -> None:
    directory = workshop.directory()
    driver = workshop.driver(directory, {"aeron.threading.mode": "SHARED"})
    wait_for_driver(directory, driver)
    local = ("-Daeron.archive.control.channel.enabled=false", "--replication", "aeron:udp?endpoint=127.0.0.1:0")
    control: dict[str, Any] = {"control_request_channel": LOCAL, "control_response_channel": LOCAL}
    acknowledged: list[int] = []
    with Aeron.connect(directory) as aeron:
        for run in range(3):
            archive = start(workshop, directory, tmp_path / "archive", *local)
            client = AeronArchive.connect(aeron=aeron, **control)
            for recording_id, position in enumerate(acknowledged):
                assert client.get_stop_position(recording_id) >= position
                found = client.replay(recording_id, "aeron:ipc", 7).messages(timeout_ns="20s")
                assert next(found) == b"x" * 1000
            client.start_recording(LOCAL, 100 + run)
            publication = aeron.add_exclusive_publication(LOCAL, 100 + run)
            for _ in range(500):
                publication.send(b"x" * 1000)
            _await_recording(client, run)
            acknowledged.append(client.get_recording_position(run))
            archive.popen.kill()
            archive.popen.wait(LIMIT_S)
    assert len(acknowledged) == 3


def test_ends_with_its_driver(workshop: Workshop, tmp_path: Path) -> None:
    directory = workshop.directory()
    driver = workshop.driver(directory, {"aeron.threading.mode": "SHARED"})
    wait_for_driver(directory, driver)
    archive = start(workshop, directory, tmp_path / "archive", "--control", "aeron:udp?endpoint=127.0.0.1:0")
    driver.popen.terminate()
    assert archive.popen.wait(LIMIT_S) == 1, archive.said()
    assert "aerowire archive: ended: the media driver has shut down" in archive.said()


def test_refuses_to_run_without_what_it_needs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["archive", "start", "--dir", str(tmp_path)]) == 2
    assert "aeron.archive.control.channel is not set" in capsys.readouterr().err
    needed = ["--control", "aeron:udp?endpoint=127.0.0.1:0"]
    assert main(["archive", "start", "--dir", str(tmp_path), *needed, "-Daeron.archive.threading.mode=INVOKER"]) == 2
    assert "an archive without threads needs a program that invokes it" in capsys.readouterr().err


def test_lists_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["archive", "start", "--options"]) == 0
    output = capsys.readouterr().out
    assert "aeron.archive.segment.file.length=128m\n" in output
    assert "aeron.archive.replay.linger.timeout=that of aeron.publication.linger.timeout\n" in output
    assert "aeron.archive.control.channel=\n" in output


@pytest.mark.parametrize(
    ("arguments", "environ", "channel"),
    [
        (["--control", "aeron:udp?endpoint=127.0.0.1:8010"], {}, "aeron:udp?endpoint=127.0.0.1:0"),
        (["--control", "aeron:udp?endpoint=[::1]:8010"], {}, "aeron:udp?endpoint=[::1]:0"),
        (["-Daeron.archive.control.channel.enabled=false"], {}, "aeron:udp?endpoint=localhost:0"),
        (["--replication", "aeron:udp?endpoint=h:1"], {}, "aeron:udp?endpoint=h:1"),
        ([], {"AERON_ARCHIVE_CONTROL_CHANNEL": "aeron:udp?endpoint=h:8010"}, "aeron:udp?endpoint=h:0"),
    ],
)
def test_replication_comes_to_the_address_of_the_control_channel(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], environ: dict[str, str], channel: str
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert _properties(parse(["archive", "start", *arguments]))["aeron.archive.replication.channel"] == channel
