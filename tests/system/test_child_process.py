"""Processes that this one starts and ends."""

from __future__ import annotations

import os
import signal
import sys

from aerowire.system.child_process import ChildProcess

WAIT_S = 60.0


def python(code: str, *, ends_with_parent: bool = False) -> ChildProcess:
    return ChildProcess([sys.executable, "-c", code], ends_with_parent=ends_with_parent)


def test_exit_code_and_what_it_printed_to_standard_error() -> None:
    child = python("import sys; print('lost'); print('reason', file=sys.stderr); sys.exit(3)")
    assert child.wait(WAIT_S) == 3
    assert child.poll() == 3
    assert child.stderr == "reason"
    child.close()
    assert child.stderr == ""


def test_of_a_long_text_its_end_is_kept() -> None:
    child = python("import sys; sys.stderr.write('x' * 10_000 + ' the end')")
    assert child.wait(WAIT_S) == 0
    assert child.stderr.endswith(" the end")
    assert len(child.stderr) == 4096
    child.close()


def test_standard_input_ends_with_the_parent() -> None:
    child = python("import sys; sys.stdin.read(); sys.exit(4)", ends_with_parent=True)
    assert child.wait(0.0) is None
    child.close()  # what the system does for a parent that has died
    assert child.wait(WAIT_S) == 4


def test_signals_of_a_terminal_do_not_reach_it() -> None:
    child = python("import sys; sys.stdin.read()", ends_with_parent=True)
    assert os.getsid(child.pid) == child.pid
    child.terminate()
    assert child.wait(WAIT_S) == -signal.SIGTERM
    child.close()


def test_kill_waits_for_the_end() -> None:
    child = python("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(signal.pause())")
    child.kill()
    assert child.poll() == -signal.SIGKILL
    child.close()
