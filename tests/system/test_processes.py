"""Whether a process is there: this one, one that has ended, and one whose parent has not asked yet."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from aerowire.system.processes import process_is_running


def test_this_process_and_the_first_one_are_running() -> None:
    assert process_is_running(os.getpid())
    assert process_is_running(1)


@pytest.mark.parametrize("pid", [0, -1])
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
