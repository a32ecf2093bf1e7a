"""What a live view shows on a screen that is too small for it, how the rest is reached, and how the terminal is left."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.client import Aeron
from aerowire.driver import MediaDriver
from aerowire.tools.terminal.keys import Key, KeyReader
from tests.support import proc
from tests.support.terminal import Terminal

MAIN = ("-m", "aerowire.tools.main")
HEAD = 2  # lines of `stat` that stay
FOOT = re.compile(r"… (\d+) more(?:, (\d+) above)?; PgDn/j, PgUp/k, g/G, q; or --type, --label, --stream")


def watched(driver_dir: str, *arguments: str, **size: int) -> Terminal:
    return Terminal(*MAIN, "stat", "--dir", driver_dir, "--watch", "0.05", *arguments, **size)


def ids(screen: list[str]) -> list[int]:
    return [int(found[1]) for line in screen[HEAD:] if (found := re.match(r" *(\d+): ", line))]


@pytest.fixture
def quiet_dir() -> Iterator[str]:
    """The directory of a driver whose counters are these tests' alone, and do not come and go."""
    with MediaDriver.launch_embedded(threading_mode="SHARED") as driver:
        yield driver.aeron_dir


def test_a_screen_says_what_it_has_no_room_for_and_keys_reach_it(quiet_dir: str) -> None:
    with Aeron.connect(aeron_dir=quiet_dir) as aeron, aeron.add_counter(1000, label="the last of all") as counter:
        last = counter.counter_id
        with watched(quiet_dir) as terminal:
            first = terminal.wait_for(lambda screen: len(screen) == 24 and terminal.has_keys)
            assert "CnC v" in first[0]
            assert set(first[1]) == {"="}
            assert ids(first) == list(range(21))
            foot = FOOT.fullmatch(first[-1])
            assert foot is not None
            terminal.press("G")
            end = terminal.wait_for(lambda screen: last in ids(screen))
            assert end[-2].endswith("the last of all")
            assert end[-1].startswith(f"… {foot[1]} more above; PgDn/j")
            assert "CnC v" in end[0]
            for keys, wanted in (("g", 0), ("j", 1), ("\x1b[B", 2), ("k", 1), ("\x1bOA", 0), ("k", 0), ("\x1b[6~", 21), ("\x1b[5~", 0)):
                terminal.press(keys)
                terminal.wait_for(lambda screen, wanted=wanted: ids(screen)[:1] == [wanted])  # type: ignore[misc]
            terminal.press("jj")
            two = terminal.wait_for(lambda screen: ids(screen)[:1] == [2])
            foot_of_two = FOOT.fullmatch(two[-1])
            assert foot_of_two is not None
            assert (int(foot_of_two[1]), foot_of_two[2]) == (int(foot[1]) - 2, "2")
            terminal.press("q")
            assert terminal.wait() == 0
            assert terminal.is_as_before
            assert terminal.left == ""


def test_another_size_of_the_screen_is_used_at_once(driver_dir: str) -> None:
    with watched(driver_dir, "--watch", "60") as terminal:
        terminal.wait_for(lambda screen: len(screen) == 24)
        terminal.resize(10, 40)
        small = terminal.wait_for(lambda screen: len(screen) == 10)
        assert ids(small)[:1] == [0]
        assert max(map(len, small)) <= 40
        assert small[-1].startswith("… ")
        terminal.resize(200, 120)
        large = terminal.wait_for(lambda screen: len(screen) > 24)
        assert not any("PgDn" in line for line in large)
        terminal.resize(2, 80)
        terminal.wait_for(lambda screen: len(screen) == 2)
        terminal.resize(1, 80)
        terminal.wait_for(lambda screen: len(screen) == 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_the_terminal_as_it_was(driver_dir: str, number: signal.Signals) -> None:
    with watched(driver_dir) as terminal:
        terminal.wait_for(lambda _screen: terminal.has_keys and terminal.screen)
        terminal.send_signal(number)
        assert terminal.wait() == 0
        assert terminal.is_as_before


def test_a_suspended_view_gives_the_terminal_back_meanwhile(driver_dir: str) -> None:
    with watched(driver_dir) as terminal:
        terminal.wait_for(lambda _screen: terminal.has_keys and terminal.screen)
        for _ in range(2):
            terminal.send_signal(signal.SIGTSTP)
            terminal.wait_for(lambda _screen: proc.state_of(terminal.pid) == "T" and terminal.is_as_before)
            terminal.send_signal(signal.SIGCONT)
            terminal.wait_for(lambda screen: terminal.has_keys and len(screen) == 24)
        terminal.press("q")
        assert terminal.wait() == 0
        assert terminal.is_as_before


IN_BACKGROUND = """
import sys
from pathlib import Path
from rich.console import Console
from aerowire.tools.terminal import live_view

background, frames = Path(sys.argv[1]), Path(sys.argv[2])
live_view.is_foreground = lambda descriptor: not background.exists()
count = 0
with live_view.LiveView(Console(), "") as view:
    view.show("0")
    while view.wait(0.05):
        count += background.exists()
        view.show(str(count))
        frames.write_text(str(count))
"""


@pytest.mark.parametrize("number", [signal.SIGTSTP, None])
def test_a_view_in_the_background_leaves_the_terminal_to_the_shell(tmp_path: Path, number: signal.Signals | None) -> None:
    background, frames = tmp_path / "background", tmp_path / "frames"
    if number is None:  # started there
        background.touch()
    with Terminal("-c", IN_BACKGROUND, str(background), str(frames)) as terminal:
        if number is not None:
            terminal.wait_for(lambda screen: terminal.has_keys and screen == ["0"] and frames.exists())
            terminal.send_signal(number)
            terminal.wait_for(lambda _screen: proc.state_of(terminal.pid) == "T")
            background.touch()
            terminal.send_signal(signal.SIGCONT)
        terminal.wait_for(lambda _screen: frames.exists() and int(frames.read_text() or 0) > 5)
        assert terminal.is_as_before
        assert (terminal.screen if number is None else terminal.left) in ([], "")
        background.unlink()
        shown = terminal.wait_for(lambda screen: terminal.has_keys and screen and screen != ["0"])
        assert int(shown[0]) > 5
        terminal.press("q")
        assert terminal.wait() == 0
        assert terminal.is_as_before


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGHUP])
def test_a_signal_that_kills_does_so_with_the_terminal_as_it_was(driver_dir: str, number: signal.Signals) -> None:
    with watched(driver_dir) as terminal:
        terminal.wait_for(lambda _screen: terminal.has_keys and terminal.screen)
        terminal.send_signal(number)
        assert terminal.wait() == -number
        assert terminal.is_as_before


def test_a_file_that_is_cut_short_leaves_the_terminal_as_it_was(driver_dir: str, tmp_path: Path) -> None:
    path = tmp_path / "cnc.dat"
    shutil.copyfile(Path(driver_dir) / "cnc.dat", path)
    with watched(str(tmp_path)) as terminal:
        terminal.wait_for(lambda _screen: terminal.has_keys and terminal.screen)
        os.truncate(path, 0)
        assert terminal.wait() == 2
        assert terminal.is_as_before
        assert "(SIGBUS)" in terminal.left


FAILING = """
from rich.console import Console
from aerowire.tools.terminal.live_view import LiveView
with LiveView(Console(), "") as view:
    view.show("shown")
    view.wait(0.2)
    raise LookupError("in between")
"""


def test_an_exception_leaves_the_terminal_as_it_was() -> None:
    with Terminal("-c", FAILING) as terminal:
        terminal.wait_for(lambda screen: screen == ["shown"] and terminal.has_keys)
        assert terminal.wait() == 1
        assert terminal.is_as_before
        assert terminal.left.endswith("LookupError: in between")


INTERRUPTED_EARLY = """
import os, signal
from rich.console import Console
from aerowire.tools.terminal.live_view import LiveView

class Interrupted(LiveView):
    def _take_terminal(self):
        super()._take_terminal()
        os.kill(os.getpid(), signal.SIGINT)

try:
    with Interrupted(Console(), ""):
        os.abort()
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_signal_at_the_very_beginning_leaves_the_terminal_as_it_was() -> None:
    with Terminal("-c", INTERRUPTED_EARLY) as terminal:
        assert terminal.wait() == 0
        assert terminal.is_as_before
        assert terminal.left == "interrupted"


def test_without_a_keyboard_only_what_leaves_lines_out_is_offered(driver_dir: str) -> None:
    reader, writer = os.pipe()
    with Terminal(*MAIN, "stat", "--dir", driver_dir, "--watch", "0.05", stdin=reader) as terminal:
        screen = terminal.wait_for(lambda screen: len(screen) == 24)
        assert re.fullmatch(r"… \d+ more; or --type, --label, --stream", screen[-1])
        terminal.send_signal(signal.SIGTERM)
        assert terminal.wait() == 0
        assert terminal.is_as_before
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize(
    ("command", "head"), [("streams", "publications"), ("backlog", "backlogs in bytes"), ("cnc", "CnC v"), ("errors", "errors")]
)
def test_every_live_view_has_the_same_screen(driver_dir: str, command: str, head: str) -> None:
    with Aeron.connect(aeron_dir=driver_dir) as aeron:
        for stream in range(10):
            aeron.add_subscription("aeron:ipc", 50 + stream)
            aeron.add_publication("aeron:ipc", 50 + stream)
        with Terminal(*MAIN, command, "--dir", driver_dir, "--watch", "0.05", rows=7, columns=200) as terminal:
            first = terminal.wait_for(lambda screen: screen and terminal.has_keys)
            assert head in first[0]
            if command != "errors":
                assert "more; PgDn/j" in first[-1]
                terminal.press("G")
                end = terminal.wait_for(lambda screen: "more above" in screen[-1])
                assert head in end[0]
                assert end[-2] != first[-2]
            terminal.press("q")
            assert terminal.wait() == 0
            assert terminal.is_as_before


@pytest.mark.parametrize(
    ("parts", "keys"),
    [
        ([b"j"], [Key.DOWN]),
        ([b"\x1b[", b"6", b"~k"], [Key.PAGE_DOWN, Key.UP]),
        ([b"\x1b", b"OB"], [Key.DOWN]),
        ([b"\x1b[1;5Cxj"], [Key.DOWN]),
        ([b"\x1b\x1b[A"], [Key.UP]),
        ([b"\x1b[" + b"1" * 40 + b"q"], [Key.QUIT]),
        ([b"\xff\x00 bgG"], [Key.PAGE_DOWN, Key.PAGE_UP, Key.FIRST, Key.LAST]),
    ],
)
def test_keys_are_told_from_what_a_terminal_sends(parts: list[bytes], keys: list[Key]) -> None:
    reader, writer = os.pipe()
    keyboard, found = KeyReader(reader), []
    for part in parts:
        os.write(writer, part)
        found += keyboard.read(1)
    os.close(writer)
    assert found == keys
    assert keyboard.read(1) == []
    assert not keyboard.is_open
    os.close(reader)
