"""The ports of a world that one thread runs: what waits is refused, and a wake-up is a bit."""

from __future__ import annotations

from functools import partial

import pytest

from aerowire.base.errors import BlockingCallError
from aerowire.base.runner import NativeAgent
from aerowire.simulation.one_thread import SimulatedThreads, SimulatedWaiting, SimulatedWakeup
from aerowire.simulation.processes import ProcessTable
from aerowire.system.clock import ManualClock


def test_a_wait_is_refused_with_the_form_to_use() -> None:
    waiting = SimulatedWaiting(ManualClock(now_ns=17))
    assert waiting.is_refused
    assert waiting.now_ns() == 17
    with pytest.raises(
        BlockingCallError, match=r"Thing\.get waits, and nothing may wait here; at a simulated world; expected Thing\.start"
    ):
        waiting.require("Thing.get", "Thing.start")
    with pytest.raises(BlockingCallError, match="a sleep of 5 ns"):
        waiting.sleep(5)


def test_there_are_no_threads() -> None:
    threads = SimulatedThreads()
    with pytest.raises(BlockingCallError, match=r"a thread of its own for NativeAgent.*an invoker"):
        threads.new_runner([NativeAgent()], ManualClock(), SimulatedWakeup())
    with pytest.raises(BlockingCallError, match="a thread of its own for worker"):
        threads.new_thread(lambda: None, "worker")


def test_a_wake_up_is_remembered_until_it_is_drained() -> None:
    wakeup = SimulatedWakeup()
    assert (wakeup.signalled, wakeup.drain()) == (False, False)
    wakeup.wake()
    wakeup.wake()
    assert wakeup.signalled
    assert (wakeup.drain(), wakeup.drain(), wakeup.signalled) == (True, False, False)
    with pytest.raises(BlockingCallError):
        wakeup.sleep(1)
    wakeup.close()


def test_processes_are_found_by_id_and_beginning() -> None:
    table = ProcessTable()
    one, other = table.begin(100), table.begin(200)
    assert one.own_id() != other.own_id()
    assert one.is_running(other.own_id())
    assert one.is_running(other.own_id(), begun_by_ms=200)
    assert not one.is_running(other.own_id(), begun_by_ms=199)
    other.kill()
    assert not one.is_running(other.own_id())
    assert table.begin(300).own_id() not in {one.own_id(), other.own_id()}


def test_an_orderly_end_calls_what_is_kept_and_a_kill_does_not() -> None:
    table = ProcessTable()
    called: list[str] = []
    first, second, third = (lambda name=name: called.append(name) for name in ("first", "second", "third"))
    ended, killed = table.begin(0), table.begin(0)
    for function in (first, second, third):
        ended.at_exit(function, at_kill=partial(called.append, "killed"))
        killed.at_exit(function, at_kill=None if function is second else partial(called.append, "killed"))
    ended.forget_at_exit(second)
    killed.forget_at_exit(first)
    killed.kill()
    assert called == ["killed"]
    ended.end()
    assert called == ["killed", "third", "first"]
    assert not ended.is_running(ended.own_id())
