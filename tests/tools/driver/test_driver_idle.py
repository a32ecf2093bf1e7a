"""`aerowire driver idle`: what a controllable idle strategy is told, by names and by Aeron's numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from aerowire.base.idle import CONTROLLABLE_BUSY_SPIN, CONTROLLABLE_NOOP, CONTROLLABLE_PARK, CONTROLLABLE_YIELD
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.media_driver import MediaDriver
from aerowire.ipc.cnc import CncFile
from aerowire.tools.driver.driver_idle import MODES
from aerowire.tools.main import main

COUNTER = SystemCounter.CONTROLLABLE_IDLE_STRATEGY


@pytest.fixture(scope="module")
def controllable() -> Iterator[str]:
    with MediaDriver.launch_embedded(threading_mode="SHARED", shared_idle_strategy="controllable") as driver:
        yield driver.aeron_dir


def printed(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> tuple[str, str]:
    assert main(["driver", "idle", *arguments]) == code
    return capsys.readouterr()


def told(directory: str) -> int:
    with CncFile.map(f"{directory}/cnc.dat", writable=False) as cnc:
        return cnc.counters_reader().value(COUNTER)


def test_the_names_stand_at_the_numbers_that_a_strategy_obeys() -> None:
    numbers = {"noop": CONTROLLABLE_NOOP, "spin": CONTROLLABLE_BUSY_SPIN, "yield": CONTROLLABLE_YIELD, "park": CONTROLLABLE_PARK}
    assert {name: MODES.index(name) for name in numbers} == numbers
    assert MODES[0] == "none"


@pytest.mark.parametrize(("mode", "value"), [("noop", 1), ("SPIN", 2), ("3", 3), ("park", 4)])
def test_a_mode_is_set_and_shown(controllable: str, capsys: pytest.CaptureFixture[str], mode: str, value: int) -> None:
    printed(capsys, 0, "park", "--dir", controllable)
    assert printed(capsys, 0, mode, "--dir", controllable) == (f"{value} {MODES[value]}, was 4 park\n", "")
    assert told(controllable) == value
    assert printed(capsys, 0, "--dir", controllable) == (f"{value} {MODES[value]}\n", "")


def test_programs_get_the_number_its_name_and_what_it_was(controllable: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, 0, "yield", "--dir", controllable)
    found = json.loads(printed(capsys, 0, "spin", "--dir", controllable, "--json")[0])
    assert (found["value"], found["mode"], found["was"]) == (2, "spin", 3)
    shown = json.loads(printed(capsys, 0, "--dir", controllable, "--json")[0])
    assert (shown["value"], shown["driver"], "was" in shown) == (2, "alive", False)


def test_a_number_that_another_tool_has_set_is_shown_as_what_comes_of_it(controllable: str, capsys: pytest.CaptureFixture[str]) -> None:
    with CncFile.map(f"{controllable}/cnc.dat") as cnc:
        cnc.counters_manager().set_value(COUNTER, 77)
    assert printed(capsys, 0, "--dir", controllable)[0] == "77 unknown, taken as park\n"


def test_a_driver_without_the_strategy_is_set_and_told_what_the_number_says_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    with MediaDriver.launch_embedded(threading_mode="SHARED") as driver:
        output, errors = printed(capsys, 0, "--dir", driver.aeron_dir)
        assert output == "0 none\n"
        assert "the counter stands at 0, as where no thread was started" in errors
        output, errors = printed(capsys, 1, "noop", "--dir", driver.aeron_dir)
        assert output == "1 noop, was 0 none\n"
        assert "the counter stood at 0" in errors
        assert told(driver.aeron_dir) == 1


@pytest.mark.parametrize("mode", ["5", "-1", "0", "none", "fast"])
def test_another_mode_is_a_usage_error(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["driver", "idle", mode])
    assert caught.value.code == 2
    assert mode in capsys.readouterr().err


def test_a_driver_that_has_ended_is_shown_and_not_set(tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]) -> None:
    directory = str(tmp_path_factory.mktemp("driver") / "aeron")
    MediaDriver.launch(aeron_dir=directory, threading_mode="SHARED", shared_idle_strategy="controllable", environ={}).close()
    output, errors = printed(capsys, 1, "--dir", directory)
    assert output == "4 park\n"
    assert "the driver has ended" in errors
    assert "there is nothing to set" in printed(capsys, 2, "spin", "--dir", directory)[1]
    assert told(directory) == 4


def test_without_a_driver_there_is_nothing_to_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert "start a media driver" in printed(capsys, 2, "--dir", "/nonexistent")[1]
