"""`aerowire publish` and `aerowire subscribe`, as processes."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aerowire.codecs.tables.options import OPTIONS
from aerowire.driver import MediaDriver
from tests.support.processes import free_port

Start = Callable[..., subprocess.Popen[bytes]]
Run = Callable[..., tuple[int, str, str]]
TIMEOUT_S = 60


def text_of(process: subprocess.Popen[bytes]) -> str:
    return process.communicate(timeout=TIMEOUT_S)[0].decode()


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_every_line_of_a_file_arrives(start: Start, run_command: Run, tmp_path: Path, medium: str) -> None:
    channel = "aeron:ipc" if medium == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    lines = ["x" * (index % 3000) + str(index) for index in range(3000)]
    source = tmp_path / "lines.txt"
    source.write_text("\n".join(lines) + "\n")
    target = tmp_path / "received.txt"
    with target.open("wb") as output:
        subscriber = start("subscribe", channel, "10", "--count", str(len(lines)), stdout=output)
        assert run_command("publish", channel, "10", str(source)) == (0, "", "")
        assert subscriber.wait(TIMEOUT_S) == 0
    assert target.read_text().splitlines() == lines


def test_lines_pass_as_they_come(start: Start) -> None:
    subscriber = start("subscribe", "aeron:ipc", "11")
    publisher = start("publish", "aeron:ipc", "11")
    assert publisher.stdin is not None
    assert subscriber.stdout is not None
    for line in (b"one\n", b"\n", b"\xff\x00 two\n"):
        publisher.stdin.write(line)
        publisher.stdin.flush()
        assert subscriber.stdout.readline() == line
    publisher.stdin.write(b"no line end")
    publisher.stdin.close()
    publisher.stdin = None
    assert subscriber.stdout.readline() == b"no line end\n"
    publisher.communicate(timeout=TIMEOUT_S)
    assert publisher.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["publish", "subscribe"])
def test_a_signal_ends_it_in_order(start: Start, command: str, number: signal.Signals) -> None:
    process = start(command, "aeron:ipc", "12")
    other = start("subscribe" if command == "publish" else "publish", "aeron:ipc", "12")
    if command == "subscribe":
        assert other.stdin is not None
        assert process.stdout is not None
        other.stdin.write(b"hello\n")
        other.stdin.flush()
        assert process.stdout.readline() == b"hello\n"
    else:
        assert process.stdin is not None
        assert other.stdout is not None
        process.stdin.write(b"hello\n")
        process.stdin.flush()
        assert other.stdout.readline() == b"hello\n"
    process.send_signal(number)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, errors) == (0, b"")


def test_publish_waits_no_longer_than_it_is_told(run_command: Run) -> None:
    code, _, errors = run_command("publish", "aeron:ipc", "13", "--wait", "0.1", data=b"x\n")
    assert code == 1
    assert "no subscriber" in errors


def test_subscribe_waits_no_longer_than_it_is_told(run_command: Run) -> None:
    code, output, errors = run_command("subscribe", "aeron:ipc", "14", "--wait", "0.1")
    assert (code, output) == (1, "")
    assert "no publisher" in errors


def test_subscribe_ends_quietly_when_its_reader_leaves(start: Start) -> None:
    subscriber = start("subscribe", "aeron:ipc", "15")
    publisher = start("publish", "aeron:ipc", "15")
    assert publisher.stdin is not None
    assert subscriber.stdout is not None
    publisher.stdin.write(b"first\n")
    publisher.stdin.flush()
    assert subscriber.stdout.readline() == b"first\n"
    subscriber.stdout.close()
    publisher.stdin.write(b"second\n")
    publisher.stdin.flush()
    assert subscriber.wait(TIMEOUT_S) == 0
    assert subscriber.stderr is not None
    assert subscriber.stderr.read() == b""
    subscriber.stdout = None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["publish", "aeron:ipc", "16", "/no/such/file"], "cannot read /no/such/file"),
        (["publish", "aeron:ipc", "16", "/"], "cannot read /: Is a directory"),
        (["publish", "aeron:udp?endpont=x", "16"], "endpont"),
        (["publish", "aeron:ipc?term-length=100", "16"], "a power of two"),
        (["publish", "aeron:ipc", "99999999999"], "99999999999"),
        (["publish", "aeron:ipc", "16", "--wait", "-1"], "--wait"),
        (["subscribe", "aeron:udp?endpoint=127.0.0.1:70000", "16"], "70000"),
        (["subscribe", "aeron:ipc", "16", "--count", "-1"], "--count"),
        (["subscribe", "aeron:ipc", "many"], "many"),
        (["publish", "aeron:ipc", "16", "-Daeron.no.such=1"], "aeron.no.such"),
    ],
)
def test_usage_errors_are_exit_code_2_and_say_what(run_command: Run, arguments: list[str], said: str) -> None:
    code, output, errors = run_command(*arguments)
    assert (code, output) == (2, "")
    assert said in errors
    assert "Traceback" not in errors


def test_a_message_that_is_too_long_names_its_line(start: Start, run_command: Run) -> None:
    subscriber = start("subscribe", "aeron:ipc", "17", "--count", "1")
    code, _, errors = run_command("publish", "aeron:ipc", "17", data=b"fits\n" + b"x" * 9000 + b"\n")
    assert code == 2
    assert "line 2: message is too long" in errors
    assert "8192" in errors
    assert text_of(subscriber) == "fits\n"


def test_no_message_is_asked_for(run_command: Run) -> None:
    assert run_command("subscribe", "aeron:ipc", "18", "--count", "0") == (0, "", "")


def test_a_killed_driver_is_noticed_while_nothing_comes_and_told_once(tmp_path: Path) -> None:
    timeout = f"-D{OPTIONS['driver_timeout_ns'].property}=1500"  # a busy machine lets a driver be late for longer than half a second
    with MediaDriver.spawn(aeron_dir=str(tmp_path / "driver"), threading_mode="SHARED") as driver:
        command = [sys.executable, "-m", "aerowire.tools.main"]
        common = ["aeron:ipc", "20", "--dir", driver.aeron_dir, timeout]
        reader = subprocess.Popen([*command, "subscribe", *common], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        writer = subprocess.Popen([*command, "publish", *common], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        assert writer.stdin is not None
        assert reader.stdout is not None
        writer.stdin.write(b"hello\n")
        writer.stdin.flush()
        assert reader.stdout.readline() == b"hello\n"
        driver.kill()
        assert (writer.wait(TIMEOUT_S), reader.wait(TIMEOUT_S)) == (2, 2)
        for process in (writer, reader):
            said = process.communicate()[1]
            assert (said.count(b"the media driver is gone"), said.count(b"\n")) == (1, 1)
