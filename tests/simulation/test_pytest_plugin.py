"""The pytest plugin as users have it: runs of pytest in folders of their own, without this project's configuration."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENTATION = Path(__file__).resolve().parents[2] / "docs" / "simulation.md"
PLUGIN = "aerowire.simulation.pytest_plugin"
HEAD = "import pytest\n"
WORKS = """
def test_a_world(simulated_world, simulation_seed):
    host = simulated_world.add_host("10.0.0.1")
    client = host.connect()
    publication = client.complete(client.aeron.async_add_publication("aeron:ipc", 1))
    assert simulated_world.run(10**9, until=lambda: publication.position == 0)
    other = host.connect()
    other.complete(other.aeron.async_add_publication("aeron:udp?endpoint=10.0.0.2:40001", 1))
    other.kill()
    host.new_process("not started")
    host.driver_process.slow(1000)
    host.driver_process.pause()
"""
FAILS = """
@pytest.mark.simulation_seeds(range(4))
def test_that_fails_once(simulated_world, simulation_seed):
    host = simulated_world.add_host("10.0.0.1")
    client = host.connect()
    client.complete(client.aeron.async_add_publication("aeron:udp?endpoint=10.0.0.2:40001", 1))
    simulated_world.run(simulation_seed * 10**9)
    simulated_world.events.note("10.0.0.9", "an event of my own")
    assert simulation_seed != 2
"""


def run(folder: Path, source: str, *arguments: str, code: int = 0) -> str:
    """Run pytest on a user's file; return what it prints."""
    (folder / "test_user.py").write_text(HEAD + source)
    # As the entry point does, whether the environment of this run has it or not.
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", "--strict-markers", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def collected(folder: Path, source: str, *arguments: str) -> list[str]:
    lines = run(folder, source, "--collect-only", "-q", *arguments).splitlines()
    return [line.removeprefix("test_user.py::") for line in lines if "::" in line]


def test_a_world_is_there_and_what_a_test_left_paused_or_killed_is_cleaned_up(tmp_path: Path) -> None:
    assert "1 passed" in run(tmp_path, WORKS)


def test_seeds_come_from_the_marker_or_the_command_line(tmp_path: Path) -> None:
    source = """
def test_plain(simulated_world): pass
@pytest.mark.simulation_seeds([7, 31])
def test_marked(simulated_world): pass
@pytest.mark.parametrize("simulation_seed", [5])
def test_own(simulated_world, simulation_seed): pass
@pytest.mark.parametrize("medium", ["udp", "ipc"])
def test_of_two_kinds(simulated_world, medium): pass
def test_other(): pass
"""
    none = ["test_plain", "test_marked[seed-7]", "test_marked[seed-31]", "test_own[5]"]
    assert collected(tmp_path, source) == [*none, "test_of_two_kinds[udp]", "test_of_two_kinds[ipc]", "test_other"]
    assert collected(tmp_path, source, "--simulation-seed", "3", "-k", "plain or marked or own or other") == [
        *("test_plain[seed-3]", "test_marked[seed-3]", "test_own[5]", "test_other")
    ]
    assert set(collected(tmp_path, source, "--simulation-seeds", "8-9", "-k", "two_kinds")) == {
        f"test_of_two_kinds[seed-{seed}-{medium}]" for medium in ("udp", "ipc") for seed in (8, 9)
    }


def test_a_failure_shows_its_world_and_the_command_that_repeats_it(tmp_path: Path) -> None:
    output = run(tmp_path, FAILS, code=1)
    assert "1 failed, 3 passed" in output
    shown = re.search(r"-+ simulated world -+\n(.*?)\n=+ short", output, re.DOTALL)
    assert shown is not None, output
    lines = shown[1].splitlines()
    assert re.fullmatch(r"seed 2, after 2\.0\d* simulated s, step \d+", lines[0])
    assert lines[1] == "10.0.0.1: driver at 10.0.0.1 (running), client at 10.0.0.1 (running)"
    assert lines[2] == "  0.000000 s, step 0: a driver starts"
    assert re.fullmatch(r"  2\.0\d* s, step \d+: an event of my own", lines[4])
    assert re.fullmatch(r"network: \d+ packets sent, lost: \d+ \w+.*", lines[5])
    assert re.search(r"10\.0\.0\.1:\d+ -> 10\.0\.0\.2:40001: SETUP, 40 bytes, sent", shown[1])
    assert lines[-1] == "again: pytest 'test_user.py::test_that_fails_once[seed-2]' --simulation-seed 2"
    again = run(tmp_path, FAILS, *shlex.split(lines[-1].removeprefix("again: pytest ")), code=1)
    assert "1 failed in" in again
    assert shown[1] in again


def test_counters_that_a_driver_keeps_are_a_failure(tmp_path: Path) -> None:
    source = """
def test_leak(simulated_world):
    host = simulated_world.add_host("10.0.0.1")
    aeron = host.connect().aeron
    aeron.async_add_static_counter(1000, "static", registration_id=5)
    aeron.async_add_static_counter(1000, "left behind", registration_id=6)
    simulated_world.run(10**9)
    counters = host.cnc.counters_manager()
    counters.set_owner_id(counters.find_by_type_and_registration(1000, 6), 0)
"""
    output = run(tmp_path, source, code=1)
    assert "1 passed, 1 error" in output
    assert "all clients have ended, and drivers keep counters:\n10.0.0.1: left behind\n" in output
    assert "again: pytest test_user.py::test_leak --simulation-seed 0" in output


def test_what_an_application_raises_fails_its_test_once(tmp_path: Path) -> None:
    source = """
def test_raises(simulated_world):
    def work():
        raise ZeroDivisionError("a mistake of mine")
    simulated_world.add_host("10.0.0.1").connect(work=work)
    simulated_world.run(1)
"""
    output = run(tmp_path, source, code=1)
    assert "1 failed in" in output
    assert "ZeroDivisionError: a mistake of mine" in output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--simulation-seed", "-1"], "argument --simulation-seed: expected"),
        (["--simulation-seed", "9223372036854775808"], "expected a whole number from 0 to 9223372036854775807, got 9223372036854775808"),
        (["--simulation-seeds", "5-2"], "expected two numbers such as 0-99, and at most 100000 seeds, got 5-2"),
        (["--simulation-seeds", "7"], "expected two numbers such as 0-99, and at most 100000 seeds, got 7"),
        (["--simulation-seeds", "0-100000"], "at most 100000 seeds, got 0-100000"),
        (["--simulation-seed", "1", "--simulation-seeds", "1-2"], "--simulation-seed and --simulation-seeds: expected one of them"),
    ],
)
def test_wrong_options_are_usage_errors(tmp_path: Path, arguments: list[str], told: str) -> None:
    assert told in run(tmp_path, WORKS, *arguments, code=4)


def test_a_wrong_marker_is_an_error_that_says_so(tmp_path: Path) -> None:
    wrong = ["", "[]", "3", "[-1]", "['a']", "[True]", "range(10**6)", "1, 2"]
    for number, seeds in enumerate(wrong):
        source = f"{HEAD}@pytest.mark.simulation_seeds({seeds})\ndef test_it(simulated_world): pass\n"
        (tmp_path / f"test_{number}.py").write_text(source)
    output = run(tmp_path, WORKS, "--collect-only", code=2)
    for number in range(len(wrong)):
        assert f"\ntest_{number}.py::test_it: simulation_seeds: expected " in output
    assert "pytest_plugin.py" not in output  # no traceback


def test_a_run_without_worlds_loads_none_of_it(tmp_path: Path) -> None:
    source = f"""
import sys
def test_alone():
    loaded = {{name for name in sys.modules if name.startswith("aerowire.")}}
    assert loaded == {{"aerowire.base", "aerowire.base.lazy_names", "aerowire.simulation", "{PLUGIN}"}}
"""
    assert "1 passed" in run(tmp_path, source)


def test_what_the_documentation_shows_runs(tmp_path: Path) -> None:
    world, fixture = re.findall(r"```python\n(.*?)```", DOCUMENTATION.read_text(), re.DOTALL)
    subprocess.run([sys.executable, "-c", world], cwd=tmp_path, check=True, timeout=100)
    assert "20 passed" in run(tmp_path, fixture)
