"""The `aerowire` command, its driver and its counters: exit codes, one-line errors, signals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.driver import MediaDriver
from aerowire.tools.main import main
from tests.support.waiting import wait_until

# The official drivers' system counters, and those of this driver alone.
COUNTERS = 46 + 6


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(autouse=True)
def _restore_sigterm() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def running(aeron_dir: str) -> Iterator[MediaDriver]:
    with MediaDriver.launch(aeron_dir=aeron_dir, threading_mode="INVOKER", environ={}) as driver:
        yield driver


def test_help_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    assert {"driver", "stat"} <= set(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", ["driver", "stat"])
def test_a_command_s_help_loads_neither_numpy_nor_native_code(name: str) -> None:
    code = f"import sys; from aerowire.tools import main\ntry: main.main(['{name}', '--help'])\nexcept SystemExit: pass\n"
    code += "assert not {'numpy', 'aerowire.driver.media_driver', 'aerowire.ipc.cnc', 'importlib.metadata'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, timeout=60)


def test_an_unknown_command_is_a_usage_error() -> None:
    with pytest.raises(SystemExit) as caught:
        main(["fly"])
    assert caught.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("driver", "-Daeron.mtu.lenght=1"), "did you mean 'aeron.mtu.length'"),
        (("driver", "-Daeron.mtu.length=x"), "aeron.mtu.length is not a size"),
        (("driver", "-Dnonsense"), "name=value"),
        (("driver", "-Dfoo=1"), "there is no such option; at foo"),
        (("driver", "-Dmtu.length=4k"), "did you mean 'aeron.mtu.length'"),
        (("driver", "-Dterm.bufer.length=64k"), "did you mean 'aeron.term.buffer.length'"),
        (("stat", "-Ddir=/nonexistent"), "did you mean 'aeron.dir'"),
        (("driver", "-Daeron.threading.mode=INVOKER"), "a driver without threads needs a program that invokes it"),
        (("driver", "-Daeron.debug.send.data.loss.rate=2"), "aeron.debug.send.data.loss.rate is out of range"),
        (("driver", "--dir", "/proc/no/such"), "the driver directory cannot be made; at /proc/no/such"),
        (("driver", "--dir", __file__), "the driver directory is a file"),
        (("stat", "--dir", __file__), "the driver's directory is a file"),
        (("publish", "aeron:ipc", "1", "--dir", __file__), "the driver's file cannot be reached; at "),
        (("ping", "--batch", "0"), "at --batch; expected at least 1; got 0"),
        (("ping", "--runs", "0"), "at --runs; expected at least 1; got 0"),
        (("driver", "--idle", "bakoff"), "at aeron.sender.idle.strategy; expected one of noop"),
        (("driver", "--idle", "bakoff"), "did you mean 'backoff'"),
        (("driver", "-Daeron.shared.idle.strategy.init.args=1 2 3 4 5"), "at aeron.shared.idle.strategy.init.args; expected at most 4"),
        (("driver", "-Daeron.shared.idle.strategy.init.args=-1"), "at aeron.shared.idle.strategy.init.args; expected >= 0"),
        (("driver", "/nonexistent.properties"), "cannot be read"),
        (("stat", "--dir", "/nonexistent"), "/nonexistent"),
        (("stat", "-Daeron.dir=/nonexistent"), "/nonexistent"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], part: str) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert part in err
    assert err.count("\n") == 1
    assert err.startswith("aerowire: ")


def test_the_driver_lists_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "driver", "--options")
    assert code == 0
    assert "aeron.term.buffer.length=16m\n    Term length of network publications.\n" in out
    assert "aeron.dir.delete.on.start=false\n" in out


@pytest.mark.parametrize("arguments", [[], ["pcap"], ["fly"], ["driver", "--no-such"]])
def test_usage_goes_to_standard_error(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "usage: aerowire" in err


def test_output_that_cannot_be_written_is_told(running: MediaDriver) -> None:
    command = [sys.executable, "-m", "aerowire.tools.main", "stat", "--dir", running.aeron_dir]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, "aerowire: No space left on device\n")


def test_stat_prints_every_counter(capsys: pytest.CaptureFixture[str], running: MediaDriver) -> None:
    code, out, _ = run(capsys, "stat", "--dir", running.aeron_dir)
    lines = out.splitlines()
    assert code == 0
    assert "CnC v0.2.0" in lines[0]
    assert lines[2] == "    0:                          0 - Bytes sent"
    assert len(lines) == 2 + COUNTERS


def test_stat_selects_by_type(capsys: pytest.CaptureFixture[str], running: MediaDriver) -> None:
    assert len(run(capsys, "stat", "--once", "--type", "11", "--dir", running.aeron_dir)[1].splitlines()) == 2


def test_stat_as_json(capsys: pytest.CaptureFixture[str], running: MediaDriver) -> None:
    code, out, _ = run(capsys, "stat", "--json", f"-Daeron.dir={running.aeron_dir}")
    found = json.loads(out)
    assert (code, found["cnc_version"], len(found["counters"])) == (0, 512, COUNTERS)
    assert found["counters"][5]["label"] == "NAKs sent"


def test_stat_of_an_ended_driver_says_so(capsys: pytest.CaptureFixture[str], running: MediaDriver) -> None:
    running.close()
    assert "the driver has ended" in run(capsys, "stat", "--dir", running.aeron_dir)[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_driver_in_order(aeron_dir: str, number: signal.Signals) -> None:
    with start(aeron_dir, "--threading", "shared", "--delete-on-shutdown") as process:
        assert process.stdout is not None
        assert aeron_dir in process.stdout.readline()
        process.send_signal(number)
        assert process.wait(20) == 0
    assert not Path(aeron_dir).exists()


def test_a_driver_captures_what_it_sends(aeron_dir: str, tmp_path: Path) -> None:
    capture = tmp_path / "out.pcapng"
    with start(aeron_dir, "--threading", "shared", "--capture", str(capture)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        wait_until(capture.exists, "no capture")
        process.terminate()
        assert process.wait(20) == 0
    assert capture.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"


def test_properties_files_and_flags_set_options(aeron_dir: str, tmp_path: Path) -> None:
    path = tmp_path / "low.properties"
    path.write_text("aeron.threading.mode=SHARED\naeron.term.buffer.length=64k\naeron.print.configuration=true\nsome.other=1\n")
    with start(aeron_dir, "-Daeron.term.buffer.length=128k", "--idle", "sleeping", str(path)) as process:
        assert process.stdout is not None
        printed: dict[str, str] = {}
        for line in process.stdout:
            if line.startswith("aerowire driver"):
                break
            name, _, value = line.strip().partition("=")
            printed[name] = value
        process.terminate()
        assert process.wait(20) == 0
    assert (printed["threading_mode"], printed["term_buffer_length"], printed["shared_idle_strategy"]) == ("SHARED", "131072", "sleeping")


def start(aeron_dir: str, *arguments: str) -> Any:
    command = [sys.executable, "-m", "aerowire.tools.main", "driver", "--dir", aeron_dir, *arguments]
    popen: Callable[..., subprocess.Popen[str]] = subprocess.Popen
    return popen(command, stdout=subprocess.PIPE, text=True)
