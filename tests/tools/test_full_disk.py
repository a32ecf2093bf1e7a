"""A full disk or /dev/shm: told where it is noticed, with what there is, what is needed and what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aerowire.client import Aeron
from aerowire.codecs.tables.counters import SystemCounter
from tests.support import small_disk
from tests.support.processes import free_port
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(small_disk.reason_against() is not None, reason=small_disk.reason_against() or "")

AEROWIRE = [sys.executable, "-m", "aerowire.tools.main"]
LIMIT_S = 60
# The smallest that a driver's own files may be: 12 MiB in all.
SMALL = ["-Daeron.counters.buffer.length=1m", "--threading", "shared", "--idle", "sleeping-ms"]


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    folder = tmp_path / "disk"
    folder.mkdir()
    return folder


@contextmanager
def driver_on(disk: Path, size: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], Callable[..., tuple[int, str, str]]]]:
    """Run a driver in a folder of the small disk; yields it and a function that runs a command beside it to its end."""
    command = [*AEROWIRE, "driver", "--dir", str(disk / "driver"), *SMALL, *arguments]
    process = subprocess.Popen(small_disk.within(disk, size, command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def beside(*command: str, data: str = "") -> tuple[int, str, str]:
        return finish(small_disk.beside(process.pid, command), data)

    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process, beside
    finally:
        process.kill()
        process.communicate()


def run_aerowire(beside: Callable[..., tuple[int, str, str]], disk: Path, *arguments: str, data: str = "") -> tuple[int, str, str]:
    return beside(*AEROWIRE, *arguments, "--dir", str(disk / "driver"), data=data)


def test_a_driver_whose_own_files_do_not_fit_does_not_start_and_leaves_nothing(disk: Path) -> None:
    command = ["sh", "-c", '"$@"; code=$?; ls "$0"; exit $code', str(disk), *AEROWIRE, "driver", "--dir", str(disk / "driver"), *SMALL]
    code, output, errors = finish(small_disk.within(disk, "4m", command))
    assert (code, output) == (2, "")
    assert errors.startswith(f"aerowire: no room for file; at {disk}/driver/cnc.dat; expected ")
    assert " bytes free; got " in errors
    assert "hint: free space" in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize("sparse", ["true", "false"])
@pytest.mark.parametrize("channel", ["aeron:ipc?term-length=16m", "aeron:udp?endpoint=127.0.0.1:20|term-length=16m"])
def test_a_log_that_does_not_fit_is_refused_and_the_driver_goes_on(disk: Path, channel: str, sparse: str) -> None:
    with driver_on(disk, "24m") as (_, beside):
        code, output, errors = run_aerowire(beside, disk, "publish", f"{channel}|sparse={sparse}", "10", data="x\n")
        assert (code, output) == (2, "")
        assert "STORAGE_SPACE: no room for a log buffer" in errors
        assert f"at {disk}/driver; expected " in errors
        assert "free bytes; got " in errors
        assert "hint: use shorter terms" in errors
        assert errors.count("\n") == 1
        smaller = channel.replace("16m", "64k")
        code, _, errors = run_aerowire(beside, disk, "publish", f"{smaller}|sparse={sparse}", "10", "--wait", "0.1", data="x\n")
        assert (code, "no subscriber" in errors) == (1, True)


def test_a_driver_warns_at_its_start_when_no_log_of_the_default_length_fits(disk: Path) -> None:
    with driver_on(disk, "24m") as (_, beside):
        (error,) = json.loads(run_aerowire(beside, disk, "errors", "--json")[1])["errors"]
        expected = f"WARN - no room for a log of the default term length: directory={disk}/driver term_length=16777216 needed=50335744 "
        assert error["text"].startswith(expected)
    with driver_on(disk, "24m", "-Daeron.term.buffer.length=1m") as (_, beside):
        assert json.loads(run_aerowire(beside, disk, "errors", "--json")[1])["errors"] == []


def test_a_subscriber_that_waits_in_vain_prints_why_its_driver_could_not_make_the_image(disk: Path, driver_dir: str) -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        driver_on(disk, "24m") as (_, beside),
        Aeron.connect(driver_dir) as aeron,
        aeron.add_publication(f"{channel}|term-length=16m", 10),
    ):
        code, output, errors = run_aerowire(beside, disk, "subscribe", channel, "10", "--wait", "3")
    assert (code, output) == (1, "")
    assert errors.startswith(f"aerowire subscribe: no publisher for {channel} stream 10 within 3 s; the driver's error log: ")
    assert f"no room for a log buffer; at {disk}/driver; expected 50335744 free bytes; got " in errors
    assert errors.count("\n") == 1


def test_memory_that_is_missing_behind_a_file_with_holes_is_told_before_the_end(disk: Path) -> None:
    stream = ["aeron:ipc?term-length=2m|sparse=true", "10", "--dir", str(disk / "driver")]
    with driver_on(disk, "24m") as (driver, beside):
        # A log is made while there is room for it, and the room is taken by somebody else before it is written to.
        command = small_disk.beside(driver.pid, [*AEROWIRE, "publish", *stream])
        publisher = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        subscriber = subprocess.Popen(small_disk.beside(driver.pid, [*AEROWIRE, "subscribe", *stream]), stdout=subprocess.PIPE)
        try:
            assert publisher.stdin is not None
            assert subscriber.stdout is not None
            publisher.stdin.write("first\n")
            publisher.stdin.flush()
            assert subscriber.stdout.readline() == b"first\n"
            beside("dd", "if=/dev/zero", f"of={disk}/filler", "bs=64k")
            _, errors = publisher.communicate(("x" * 1000 + "\n") * 2000, timeout=LIMIT_S)
        finally:
            for process in (publisher, subscriber):
                process.kill()
                process.communicate()
    assert publisher.returncode == 2
    assert errors.startswith("aerowire: no memory behind a mapped file (SIGBUS)")
    assert "hint: free space in /dev/shm" in errors


@pytest.mark.parametrize("name", ["traffic.pcapng", "traffic.pcap"])
def test_a_driver_goes_on_when_its_capture_has_no_room_and_says_so_once(disk: Path, tmp_path: Path, name: str) -> None:
    memory = ["--dir", str(tmp_path / "driver")]
    stream = [f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k", "10", *memory]
    lines = [f"{number:01000d}" for number in range(1000)]
    received = tmp_path / "received"
    command = [*AEROWIRE, "driver", *memory, *SMALL, "--capture", str(disk / name)]
    driver = subprocess.Popen(small_disk.within(disk, "256k", command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert driver.stdout is not None
        driver.stdout.readline()
        with received.open("wb") as output:
            reader = subprocess.Popen([*AEROWIRE, "subscribe", *stream, "--count", str(len(lines))], stdout=output)
        assert finish([*AEROWIRE, "publish", *stream], "\n".join(lines))[0] == 0
        assert reader.wait(LIMIT_S) == 0
        wait_until(lambda: count_errors(memory), "the capture, which is written behind the driver's back, noticed nothing")
        errors_counted = count_errors(memory)
        driver.terminate()
        _, errors = driver.communicate(timeout=LIMIT_S)
    finally:
        driver.kill()
        driver.communicate()
    assert received.read_text().splitlines() == lines
    assert errors_counted == 1
    assert (driver.returncode, errors.count("\n")) == (1, 1)
    assert errors.startswith(
        f"aerowire driver: capture ended before the driver did; at {disk / name}; expected room for every datagram; got No"
    )


def count_errors(memory: list[str]) -> int:
    """Return what the driver's error counter says."""
    counters = json.loads(finish([*AEROWIRE, "stat", "--json", *memory])[1])["counters"]
    (errors,) = (counter["value"] for counter in counters if counter["id"] == SystemCounter.ERRORS)
    return int(errors)


def finish(command: list[str], data: str = "") -> tuple[int, str, str]:
    """Run a command to its end; return exit code, output and errors."""
    done = subprocess.run(command, input=data, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    return done.returncode, done.stdout, done.stderr
