"""`aerowire simulate` where something is wrong: one clear message, the right exit code, and a ledger of whole lines."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.base.errors import ConfigurationError
from aerowire.simulation.scenarios.plan import Kind, Scenario
from aerowire.tools.main import main
from aerowire.tools.simulate.code_version import code_version
from aerowire.tools.simulate.ledger import FAILED, LOST, PASSED, RAISED, Entry, Ledger
from tests.support import proc
from tests.support.waiting import wait_until

COMMAND = (sys.executable, "-m", "aerowire.tools.main", "simulate")
ROOT = Path(__file__).resolve().parents[3]
VERSION = code_version()
ENTRY = Entry("mine", 7, VERSION, PASSED, 10, 1.5, 20, 5, "00ff")
LINE = json.dumps({name: getattr(ENTRY, name) for name in Entry.__slots__}) + "\n"
IMPORT = "from aerowire.simulation import Medium, Scenario"
SCENARIO = f"""
{IMPORT}
MINE = Scenario(name="mine", about="", hosts=(2, 2), duration_s=(1, 1), streams=(1, 1), media=(Medium.UDP,), rate=(5, 5))
class Planless(Scenario):
    def plan(self, seed):
        raise ZeroDivisionError("no plan")
PLANLESS = Planless(name="planless", about="")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with a scenario of a user."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != ""])
    (tmp_path / "users_own.py").write_text(SCENARIO)
    yield tmp_path
    sys.modules.pop("users_own", None)


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=100, **options)


# -- Scenarios of others -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_a_scenario_of_the_working_directory_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "users_own:MINE", "--seed", "1"]) == 0
    assert capsys.readouterr().out.startswith("1 passed, 0 failed; ")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero (other.py:1)"),
        ("raise SystemExit(7)", "SystemExit: 7 (other.py:1)"),
        ("def (", "invalid syntax (other.py, line 1)"),
        ("import no_such_package", "No module named 'no_such_package'"),
        ("Y = 1", "module 'other' has no attribute 'X'"),
        (
            "from aerowire.simulation import Scenario\nX = Scenario(name='x', about='', hosts=(5, 1))",
            "hosts cannot be drawn from; at scenario x",
        ),
    ],
)
def test_a_module_that_does_not_load_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], source: str, told: str) -> None:
    (folder / "other.py").write_text(source)
    try:
        assert main(["simulate", "other:X", "--seed", "1"]) == 2
    finally:
        sys.modules.pop("other", None)
    error = capsys.readouterr().err
    assert error.startswith("aerowire: the scenario cannot be loaded; at other:X; got ")
    assert told in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["users_own:", ":X", ".x:X", "users_own:MINE.name", ":"])
@pytest.mark.usefixtures("folder")
def test_a_name_that_leads_nowhere_is_one_line(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["simulate", name, "--seed", "1"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"aerowire: the scenario cannot be loaded; at {name}; got ")
    assert error.count("\n") == 1


@pytest.mark.parametrize("options", [[], ["--shrink"], ["--stop-at", "1"]])
@pytest.mark.usefixtures("folder")
def test_a_scenario_that_draws_no_plan_is_a_failure(capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    assert main(["simulate", "users_own:PLANLESS", "--seed", "1", *options]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "RAISED: ZeroDivisionError: no plan (users_own.py:6)" in lines[0]
    assert "again: aerowire simulate users_own:PLANLESS --seed 1" in lines


@pytest.mark.parametrize("options", [[], ["--trace", "trace.txt"], ["--shrink"]])
def test_what_an_application_raises_shows_the_last_events(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    def fail(*_: object) -> bytes:
        raise ZeroDivisionError("a mistake\nof mine")

    monkeypatch.setattr("aerowire.simulation.scenarios.traffic.encode", fail)
    assert main(["simulate", "users_own:MINE", "--seed", "1", *options]) == 1
    out = capsys.readouterr().out
    assert "RAISED: ZeroDivisionError: a mistake of mine (test_misuse.py:" in out
    assert "\n  10.0.0.1: 0.000000 s, step 0: a driver starts\n" in out
    assert "\nagain: aerowire simulate users_own:MINE --seed 1" in out
    if "--trace" in options:
        assert " sent 10.0.0." in (folder / "trace.txt").read_text()


def test_what_a_checker_raises_is_kept_in_the_ledger(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("a mistake of a checker")

    monkeypatch.setattr("aerowire.simulation.scenarios.checkers.Progress.on_recovered", fail)
    assert main(["simulate", "users_own:MINE", "--seeds", "1-2", "--ledger", "ledger"]) == 1
    lines = capsys.readouterr().out.splitlines()
    told = "KeyError: 'a mistake of a checker' (test_misuse.py:"
    assert lines[0].startswith(f"users_own:MINE, seed 1: RAISED: {told}")
    assert lines[-1].startswith("0 passed, 2 failed; ")
    kept = [json.loads(line) for line in (folder / "ledger").read_text().splitlines()]
    assert [(entry["seed"], entry["outcome"]) for entry in kept] == [(1, RAISED), (2, RAISED)]
    assert all(entry["told"].startswith(told) for entry in kept)


@pytest.mark.parametrize(
    "options",
    [
        *({"hosts": hosts} for hosts in ((5, 1), (0, 2), (1, 300), (1.0, 2), 2, (1,), [1, 2], (True, 2), ("1", "2"))),
        {"duration_s": (0, 10)},
        {"rate": (0, 1)},
        {"length_max": (1, 10_000)},
        {"loss": (0.5, 0.2)},
        {"loss": (0, 1.1)},
        {"jitter_ms": (0, float("inf"))},
        {"latency_ms": (float("nan"), 1)},
        {"crash": 2.0},
        {"crash": "much"},
        {"media": ()},
        {"misfortune_s": (1, 2)},
    ],
    ids=str,
)
def test_a_range_that_cannot_be_drawn_from_is_refused(options: dict[str, Any]) -> None:
    (name,) = {"misfortune_s": "kinds"}.get(next(iter(options)), next(iter(options))).split()
    with pytest.raises(ConfigurationError, match=f"{name} cannot be drawn from; at scenario x; expected .*; got "):
        Scenario(name="x", about="y", **options)
    Scenario(name="x", about="y", misfortune_s=(0, 1), crash=1, kinds=(Kind.PAUSE,))


# -- Ledgers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (LINE + "{half", "the last line of the ledger is not whole; at ledger:2 (hint: take the line out, and its seed is run again)"),
        (LINE.rstrip("\n"), "the last line of the ledger is not whole; at ledger:1 "),
        (LINE + "{half}\n" + LINE, "not a ledger of simulations; at ledger:2; got "),
        ("\xff\n", "not a ledger of simulations; at ledger:1; got "),
        ("\n", "not a ledger of simulations; at ledger:1; got "),
        ("[1]\n", "not a ledger of simulations; at ledger:1; expected an entry with a version "),
        (LINE.replace('"seed": 7', '"seed": "7"'), "not an entry of a ledger; at ledger:1; expected each of its fields; got wrong: seed "),
        (LINE.replace('"seed"', '"number"'), "got wrong: seed, number "),
        (LINE.replace('"steps": 10', '"steps": true'), "got wrong: steps "),
    ],
    ids=["half", "no-end", "middle", "octets", "blank", "list", "type", "field", "bool"],
)
def test_a_damaged_ledger_is_refused_and_left_alone(folder: Path, capsys: pytest.CaptureFixture[str], content: str, told: str) -> None:
    ledger = folder / "ledger"
    ledger.write_text(content, encoding="latin-1")
    assert main(["simulate", "users_own:MINE", "--seed", "1", "--ledger", "ledger"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("aerowire: ")
    assert told in error
    assert error.count("\n") == 1
    assert ledger.read_text(encoding="latin-1") == content


def test_entries_of_other_versions_are_left_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    others = '{"version": "0.0.1", "of": "another kind"}\n' + LINE.replace(VERSION, "9.9.9")
    (folder / "ledger").write_text(others)
    assert main(["simulate", "users_own:MINE", "--seed", "7", "--ledger", "ledger"]) == 0
    assert capsys.readouterr().out.startswith("1 passed, 0 failed; ")
    lines = (folder / "ledger").read_text().splitlines(keepends=True)
    assert "".join(lines[:2]) == others
    assert json.loads(lines[2])["version"] == VERSION


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/dev/full", "not a ledger of simulations; at /dev/full; expected a file"),
        (".", "Is a directory: ."),
        ("none/ledger", "No such file or directory: none/ledger"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_file_that_cannot_be_a_ledger_is_refused_before_any_seed(capsys: pytest.CaptureFixture[str], path: str, told: str) -> None:
    assert main(["simulate", "users_own:MINE", "--seed", "1", "--ledger", path]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert told in printed.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_ledger_that_may_not_be_written_is_refused_before_any_seed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ledger").write_text(LINE)
    (folder / "ledger").chmod(0o444)
    assert main(["simulate", "users_own:MINE", "--seed", "1", "--ledger", "ledger"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "aerowire: Permission denied: ledger\n")


def test_a_full_disk_leaves_whole_lines(folder: Path) -> None:
    room = len(LINE) * 5 // 2

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    # Bytecode would be cut short too, for those who read it later.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = run("users_own:MINE", "--seeds", "0-9", "--ledger", "ledger", cwd=folder, env=environment, preexec_fn=limit)
    assert (done.returncode, done.stderr) == (2, "aerowire: File too large: ledger\n")
    lines = (folder / "ledger").read_text().splitlines(keepends=True)
    assert 0 < len(lines) < 5
    assert [json.loads(line)["seed"] for line in lines] == list(range(len(lines)))
    assert lines[-1].endswith("\n")


def test_two_runs_may_add_to_one_ledger(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger", VERSION) as one, Ledger(tmp_path / "ledger", VERSION) as other:
        one.add(ENTRY)
        other.add(ENTRY)
        assert one.find("mine", 7) is None  # it was not there at the start
    with Ledger(tmp_path / "ledger", VERSION) as ledger:
        assert ledger.find("mine", 7) == ENTRY
        assert ledger.known(["mine"], range(10**18)) == [ENTRY]
        assert ledger.known(["other"], range(10)) == ledger.known(["mine"], range(7)) == []
    assert (tmp_path / "ledger").read_text() == LINE * 2


# -- Seeds and jobs ------------------------------------------------------------------------------------------------------


def test_a_range_without_end_begins_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ledger").write_text(LINE.replace('"mine"', '"users_own:MINE"').replace(PASSED, FAILED))
    arguments = ["--seeds", "0-999999999999999999", "--minutes", "0.0001", "--ledger", "ledger"]
    assert main(["simulate", "users_own:MINE", *arguments]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("; ")[1].startswith("999,999,999,999,999,99")
    assert lines[1] == "by the ledger: users_own:MINE, seed 7: FAILED: "


def test_a_seed_whose_process_is_killed_is_told_and_the_others_go_on(folder: Path) -> None:
    (folder / "users_own.py").write_text(SCENARIO.replace("duration_s=(1, 1)", "duration_s=(600, 600)"))
    command = [
        sys.executable,
        "-m",
        "aerowire.tools.main",
        "simulate",
        "users_own:MINE",
        "--seeds",
        "0-2",
        "--jobs",
        "2",
        "--ledger",
        "ledger",
    ]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        jobs: list[int] = []

        def are_at_work() -> bool:
            jobs[:] = [child for child in proc.descendants(process.pid) if "spawn_main" in proc.command_of(child)]
            return len(jobs) == 2 and all("schedule" in proc.maps_of(job) for job in jobs)

        wait_until(are_at_work, "no jobs")
        os.kill(jobs[0], signal.SIGKILL)
        out, errors = process.communicate(timeout=100)
    assert (process.returncode, errors) == (1, "")
    lines = out.splitlines()
    assert lines[0] in [f"users_own:MINE, seed {seed}: LOST: its process ended, exit code -9" for seed in (0, 1)]
    assert lines[1].startswith("again: aerowire simulate users_own:MINE --seed ")
    assert lines[2].startswith("2 passed, 1 failed; ")
    kept = [json.loads(line) for line in (folder / "ledger").read_text().splitlines()]
    assert len(kept) == 2
    assert LOST not in {entry["outcome"] for entry in kept}


def test_the_version_of_a_ledger_tells_commits_and_changes_apart(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        names = ["-c", "user.name=one", "-c", "user.email=one@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *names, *arguments], check=True, capture_output=True)

    def version() -> str:
        program = "from aerowire.tools.simulate.code_version import code_version; print(code_version())"
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "runtime")}
        return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True).stdout.strip()

    module = "aerowire/tools/simulate/code_version.py"
    for name in (module, "aerowire/base/version.py"):
        (tmp_path / "runtime" / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / "runtime" / name, tmp_path / "runtime" / name)
    for package in ("base", "tools", "tools/simulate"):
        (tmp_path / "runtime" / "aerowire" / package / "__init__.py").touch()
    seen = [version()]
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "one")
    seen.append(version())
    with (tmp_path / "runtime" / module).open("a") as file:
        file.write("# changed\n")
    seen.append(version())
    git("commit", "--quiet", "-a", "-m", "two")
    seen.append(version())
    assert len(set(seen)) == 4
    assert seen[0] == VERSION.partition("+")[0]
    assert all(one.startswith(f"{seen[0]}+") for one in seen[1:])
    assert [one.count(".") - seen[0].count(".") for one in seen] == [0, 0, 1, 0]
