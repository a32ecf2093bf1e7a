"""Ctrl-C and SIGTERM end every command at once and in order: its exit code, what it says, what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import proc
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
CAPTURE = ROOT / "tests" / "data" / "captures" / "unreliable_gap_fill.pcap"
LIMIT_S = 60
MANY = "2000000000"
SIGNALS = [signal.SIGINT, signal.SIGTERM]
AEROWIRE, CODEGEN, CONFORMANCE = "aerowire.tools.main", "aerowire.codegen.main", "aerowire.conformance.main"

Ends = tuple[int, str, str]


@contextmanager
def running(module: str, *arguments: str, **options: object) -> Iterator[subprocess.Popen[str]]:
    """Run a command in a session of its own, as a terminal's foreground job; whatever is left of it is killed."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    process: subprocess.Popen[str] = subprocess.Popen(
        [sys.executable, "-m", module, *arguments], text=True, start_new_session=True, **pipes
    )  # type: ignore[call-overload]
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def end(process: subprocess.Popen[str], number: signal.Signals) -> Ends:
    """Signal a command as a terminal does, with Ctrl-C to the whole group, or as an operator does, to the process."""
    children, folders = proc.descendants(process.pid), proc.shared_memory_of(process.pid)
    os.killpg(process.pid, number) if number is signal.SIGINT else process.send_signal(number)
    output, errors = process.communicate(timeout=LIMIT_S)
    wait_until(lambda: not any(map(proc.is_running, children)), f"{children} still run")
    assert not [folder for folder in folders if folder.exists()]
    return process.returncode, output, errors


def wait_for_handler(process: subprocess.Popen[str]) -> None:
    wait_until(lambda: process.poll() is not None or proc.catches(process.pid, signal.SIGTERM), "no handler of SIGTERM")


ENDLESS = [
    ["driver"],
    ["subscribe", "aeron:ipc", "10"],
    ["stat", "--watch", "1"],
    ["streams", "--watch", "1"],
    ["pong"],
    ["rate", "subscribe", "aeron:ipc", "10"],
    ["file", "receive", "."],
]
LIMITED = [
    (AEROWIRE, ["publish", "aeron:ipc", "10"]),
    (AEROWIRE, ["subscribe", "aeron:ipc", "10", "--count", "1"]),
    (AEROWIRE, ["file", "send", __file__]),
    (AEROWIRE, ["file", "receive", ".", "--once"]),
    (AEROWIRE, ["ping", "--messages", MANY]),
    (AEROWIRE, ["throughput", "--messages", MANY]),
    (AEROWIRE, ["simulate", "rough", "--seeds", f"0-{MANY}"]),
    (AEROWIRE, ["demo"]),
    (AEROWIRE, ["pcap", "summary", "-"]),
    (AEROWIRE, ["pcap", "frames", "-"]),
    (CODEGEN, ["check"]),
    (CODEGEN, ["generate"]),
    (CONFORMANCE, ["run"]),
    (CONFORMANCE, ["fuzz"]),
    (CONFORMANCE, ["replay", str(CAPTURE), "--pace", "captured"]),
]


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("arguments", ENDLESS, ids=lambda arguments: arguments[0])
def test_an_endless_command_is_done_when_a_signal_comes_early(arguments: list[str], number: signal.Signals, tmp_path: Path) -> None:
    with running(AEROWIRE, *arguments, "--dir", str(tmp_path / "driver")) as process:
        wait_for_handler(process)
        code, _, errors = end(process, number)
    assert (code, errors) == (0, "")


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("options", [["--capture"], []], ids=["capture", "properties"])
def test_a_driver_that_waits_for_the_other_end_of_a_pipe_ends(options: list[str], number: signal.Signals, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.pcapng"
    os.mkfifo(pipe)
    with running(AEROWIRE, "driver", "--dir", str(tmp_path / "driver"), *options, str(pipe)) as process:
        is_loaded = "bus_error"  # a module that the command loads before it looks at files
        wait_until(lambda: is_loaded in proc.maps_of(process.pid) and proc.state_of(process.pid) == "S", "it does not wait")
        code, _, errors = end(process, number)
    assert (code, errors) == (0, "")
    assert not (tmp_path / "driver").exists()


def test_a_driver_captures_to_a_pipe_whose_reader_comes_later(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.pcapng"
    os.mkfifo(pipe)
    with running(AEROWIRE, "driver", "--dir", str(tmp_path / "driver"), "--capture", str(pipe)) as process:
        with pipe.open("rb") as reader:
            assert process.stdout is not None
            assert "aerowire driver: pid" in process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            section_header = b"\n\r\r\n"
            assert reader.read().startswith(section_header)
        assert process.wait(LIMIT_S) == 0


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(("module", "arguments"), LIMITED, ids=lambda value: "-".join(value[:2]) if isinstance(value, list) else "")
def test_any_other_command_is_not_done_when_a_signal_comes_early(
    module: str, arguments: list[str], number: signal.Signals, tmp_path: Path
) -> None:
    extra = {"demo": ["--folder", str(tmp_path / "demo")], "generate": ["--out", str(tmp_path)]}.get(arguments[0], [])
    extra += ["--dir", str(tmp_path / "driver")] if arguments[0] in {"publish", "subscribe", "file"} else []
    with running(module, *arguments, *extra) as process:
        wait_for_handler(process)
        code, output, errors = end(process, number)
    assert (code, output) == (1, "")
    assert errors == f"{module.split('.')[1] if module != AEROWIRE else 'aerowire'}: interrupted\n"


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    ("module", "arguments", "children"),
    [
        (AEROWIRE, ["ping", "--messages", "2000000"], 2),
        (AEROWIRE, ["ping", "--messages", "2000000", "--driver", "embedded", "--one-thread"], 0),
        (AEROWIRE, ["throughput", "--messages", MANY, "--mode", "batch"], 2),
        (AEROWIRE, ["simulate", "rough", "--seeds", f"0-{MANY}", "--jobs", "2"], 2),
        (CONFORMANCE, ["run"], 1),
        (CONFORMANCE, ["fuzz", "--count", MANY], 1),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_a_command_at_work_takes_its_children_and_files_along(
    module: str, arguments: list[str], children: int, number: signal.Signals
) -> None:
    with running(module, *arguments) as process:
        wait_for_handler(process)
        wait_until(lambda: len(proc.descendants(process.pid)) >= children, "no children")
        code, _, errors = end(process, number)
    assert code == 1
    assert errors.endswith(": interrupted\n")
    assert errors.count("\n") == 1


@pytest.mark.parametrize("number", SIGNALS)
def test_spark_s_java_ends_with_the_command(number: signal.Signals) -> None:
    pytest.importorskip("pyspark")
    with running(AEROWIRE, "pcap", "summary", "--engine", "spark", str(CAPTURE)) as process:
        wait_for_handler(process)
        wait_until(lambda: any("pyspark-shell" in proc.command_of(child) for child in proc.descendants(process.pid)), "no Java")
        code, output, errors = end(process, number)
    assert (code, output) == (1, "")
    assert errors.endswith("aerowire: interrupted\n")
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    "where", ["class Lost: __del__ = lambda self: come()\nLost()", "os.register_at_fork(after_in_parent=come)\nfork()"]
)
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_comes_where_python_loses_exceptions_is_raised_all_the_same(where: str, number: signal.Signals) -> None:
    """In a destructor, and beside a fork, as Spark's Java is started."""
    text = f"""
import os, signal, time
from aerowire.process.interruption import Interruption
def come(): signal.raise_signal({int(number)})
def fork(): os.fork() or os._exit(0)
with Interruption(is_last=True) as interruption:
    interruption.release()
    try:
        exec({where!r})
        time.sleep(5)
    except KeyboardInterrupt:
        print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


def test_the_demo_deletes_nothing_that_is_not_its_own(tmp_path: Path) -> None:
    precious = tmp_path / "thesis.txt"
    precious.write_text("years of work")
    with running(AEROWIRE, "demo", "--folder", str(tmp_path)) as process:
        _, errors = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 2
    assert "the folder holds files that are not a demo's" in errors
    assert precious.read_text() == "years of work"


@pytest.mark.parametrize("number", SIGNALS)
def test_an_interrupted_subscribe_that_had_to_count_is_not_done(
    start: Callable[..., subprocess.Popen[bytes]], number: signal.Signals
) -> None:
    subscriber, publisher = start("subscribe", "aeron:ipc", "30", "--count", "2"), start("publish", "aeron:ipc", "30")
    assert publisher.stdin is not None
    assert subscriber.stdout is not None
    publisher.stdin.write(b"one\n")
    publisher.stdin.flush()
    assert subscriber.stdout.readline() == b"one\n"
    subscriber.send_signal(number)
    assert subscriber.communicate(timeout=LIMIT_S) == (b"", b"aerowire: interrupted\n")
    assert subscriber.returncode == 1


@pytest.mark.parametrize("number", SIGNALS)
def test_an_interrupted_publish_with_lines_left_is_not_done(
    start: Callable[..., subprocess.Popen[bytes]], tmp_path: Path, number: signal.Signals
) -> None:
    fifo = tmp_path / "lines"
    os.mkfifo(fifo)
    subscriber, publisher = start("subscribe", "aeron:ipc", "31"), start("publish", "aeron:ipc", "31", str(fifo))
    assert subscriber.stdout is not None
    with fifo.open("wb") as lines:
        lines.write(b"whole\nbegun")
        lines.flush()
        assert subscriber.stdout.readline() == b"whole\n"
        publisher.send_signal(number)
        _, errors = publisher.communicate(timeout=LIMIT_S)
    assert (publisher.returncode, errors) == (1, b"aerowire publish: interrupted after line 1\n")
    subscriber.terminate()
    assert subscriber.wait(LIMIT_S) == 0


def test_a_second_signal_does_not_keep_a_command_from_clearing_up() -> None:
    with running(CONFORMANCE, "run") as process:
        wait_for_handler(process)
        wait_until(lambda: proc.shared_memory_of(process.pid), "no driver")
        folders = proc.shared_memory_of(process.pid)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, errors) == (1, "conformance: interrupted\n")
    assert not [folder for folder in folders if folder.exists()]
