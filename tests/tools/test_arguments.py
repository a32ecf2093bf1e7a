"""What the subcommands say of arguments that they cannot take."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.base.idle import IDLE_STRATEGY_NAMES
from aerowire.tools.arguments import IDLE_NAMES
from aerowire.tools.main import main


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return what a command says that does not begin."""
    try:
        code: object = main(list(arguments))
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    output, errors = capsys.readouterr()
    assert output == ""
    return str(errors)


@pytest.mark.parametrize("command", ["stat", "driver", "driver pid", "log", "ping", "events", "pcap summary"])
def test_an_unknown_argument_is_told_with_the_usage_of_its_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    errors = refused(capsys, *command.split(), *(["x"] if command.startswith("pcap") else []), "--no-such")
    assert errors.startswith(f"usage: aerowire {command} ")
    assert errors.endswith(f"aerowire {command}: error: unrecognized arguments: --no-such\n")


def test_a_directory_is_no_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    errors = refused(capsys, "log", str(tmp_path))
    assert "a log is a file" in errors
    assert "got a directory" in errors
    assert f"aerowire log --dir {tmp_path}" in errors


def test_a_directory_has_no_error_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"not a file; at {tmp_path}; expected a file; got a directory" in refused(capsys, "errors", "--file", str(tmp_path))


@pytest.mark.parametrize("command", ["stat", "streams", "loss", "errors", "cnc", "log", "events", "driver pid", "driver terminate"])
def test_a_file_is_no_driver_s_directory(driver_dir: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes"
    path.write_text("notes")
    errors = refused(capsys, *command.split(), "--dir", str(path))
    assert f"the driver's directory is a file; at {path}; expected a directory; got a file" in errors
    assert "permissions" not in errors
    assert f"give the directory that it is in: {driver_dir}" in refused(capsys, *command.split(), "--dir", f"{driver_dir}/cnc.dat")


def test_idle_strategies_have_one_set_of_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert IDLE_NAMES == IDLE_STRATEGY_NAMES
    names = ", ".join(IDLE_NAMES)
    for command in ("driver", "ping", "throughput", "pong"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert f"{', '.join(IDLE_NAMES[:-1])} or {IDLE_NAMES[-1]}" in " ".join(capsys.readouterr().out.split()), command
        assert f"expected one of {names}" in refused(capsys, command, "--idle", "lazy"), command


@pytest.mark.parametrize("text", ["0", "0.049", "-1", "nan", "inf"])
@pytest.mark.parametrize("command", ["stat", "streams", "errors"])
def test_looking_without_a_pause_is_refused(command: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"--watch: expected a number of seconds from 0.05, got {text}" in refused(capsys, command, f"--watch={text}")
