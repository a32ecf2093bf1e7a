"""Whether a process is there: this one, one that has ended, and one whose parent has not asked yet."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from aerowire.system.processes import SystemProcesses, process_is_running

AT_EXIT = """
from aerowire.system.processes import SystemProcesses
processes = SystemProcesses()
first, second, third = (lambda name=name: print(name) for name in ("first", "second", "third"))
for function in (first, second, third):
    processes.at_exit(function)
processes.forget_at_exit(second)
processes.forget_at_exit(second)
"""


def test_this_process_and_the_first_one_are_running() -> None:
    assert process_is_running(os.getpid())
    assert process_is_running(1)


@pytest.mark.parametrize("pid", [0, -1, 2**31, 2**63 - 1, -(2**63)])
def test_an_id_that_names_no_single_process_is_none(pid: int) -> None:
    assert not process_is_running(pid)


def test_a_zombie_has_ended() -> None:
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not process_is_running(child.pid)
    assert not process_is_running(child.pid)


def test_a_running_child_is_running() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        assert process_is_running(child.pid)


def test_a_process_that_began_later_has_another_s_id() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        now_ms = time.time_ns() // 1_000_000
        assert process_is_running(child.pid, begun_by_ms=now_ms)
        assert not process_is_running(child.pid, begun_by_ms=now_ms - 60_000)


def test_the_port_tells_of_this_process_and_of_others() -> None:
    processes = SystemProcesses()
    assert processes.own_id() == os.getpid()
    assert processes.is_running(os.getpid())
    assert not processes.is_running(0)
    assert not processes.is_running(os.getpid(), begun_by_ms=0)


def test_what_is_kept_is_called_at_the_end_of_the_process_the_last_first() -> None:
    done = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["third", "first"]
