"""Idle strategies, runners, invokers, wake-ups and what a fork does to them."""

from __future__ import annotations

import mmap
import os
import struct
import subprocess
import sys
import threading
import time

import pytest

from aerowire.base.errors import AerowireError, ClosedError, ConfigurationError, ForkedProcessError
from aerowire.base.idle import (
    CONTROLLABLE_BUSY_SPIN,
    CONTROLLABLE_NOOP,
    CONTROLLABLE_PARK,
    CONTROLLABLE_YIELD,
    IDLE_STRATEGY_NAMES,
    BackoffIdleStrategy,
    ControllableIdleStrategy,
    IdleStrategy,
    idle_strategy,
)
from aerowire.base.runner import AgentInvoker, AgentRunner, NativeAgent
from aerowire.system.clock import ManualClock, SystemClock
from aerowire.system.wakeup import Wakeup

NO_DEADLINE = (1 << 63) - 1


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("noop", "noop"),
        ("busy-spin", "spin"),
        ("yielding", "yield"),
        ("sleeping", "sleep-ns"),
        ("sleeping-ms", "sleep-ms"),
        ("org.agrona.concurrent.BackoffIdleStrategy", "backoff"),
        ("BusySpinIdleStrategy", "spin"),
        ("aeron_idle_strategy_busy_spinning", "spin"),
        ("sleep-ns", "sleep-ns"),
        ("org.agrona.concurrent.ControllableIdleStrategy", "controllable"),
    ],
)
def test_strategies_answer_to_all_their_names(name: str, alias: str) -> None:
    strategy = idle_strategy(name)
    assert strategy.alias == alias
    strategy(0)
    strategy(1)
    assert strategy.copy().alias == alias


def test_strategies_take_parameters_and_refuse_bad_ones() -> None:
    assert repr(idle_strategy("backoff", 1, 2, 3000, 4000)) == "BackoffIdleStrategy(1, 2, 3000, 4000)"
    assert repr(BackoffIdleStrategy()) == "BackoffIdleStrategy(10, 20, 1000, 1000000)"
    for call in (("nap",), ("sleep-ns", 0), ("backoff", -1), ("backoff", 1, 1, 5, 4)):
        with pytest.raises(ConfigurationError):
            idle_strategy(*call)
    assert "backoff" in IDLE_STRATEGY_NAMES


def test_a_controllable_strategy_does_what_it_is_told_from_one_cycle_to_the_next() -> None:
    status = mmap.mmap(-1, 4096)
    strategy = ControllableIdleStrategy()
    strategy.obey(memoryview(status)[:8])
    other = strategy.copy()

    def shortest_ns(idle: IdleStrategy, told: int) -> int:
        struct.pack_into("<q", status, 0, told)
        durations = []
        for _ in range(50):
            begin = time.perf_counter_ns()
            idle(0)
            durations.append(time.perf_counter_ns() - begin)
        return min(durations)

    for idle in (strategy, other):
        assert [shortest_ns(idle, told) >= 1_000 for told in (0, CONTROLLABLE_PARK, 77)] == [True] * 3
        assert [shortest_ns(idle, told) < 1_000 for told in (CONTROLLABLE_NOOP, CONTROLLABLE_BUSY_SPIN)] == [True] * 2
        shortest_ns(idle, CONTROLLABLE_YIELD)
    for bad in (memoryview(status)[:4], memoryview(status)[4:12]):
        with pytest.raises(ValueError, match="8 octets aligned to 8"):
            strategy.obey(bad)


def test_backoff_parks_longer_and_longer_and_starts_over_after_work() -> None:
    strategy = BackoffIdleStrategy(0, 0, 1_000_000, 8_000_000)

    def idle_ns() -> int:
        begin = time.perf_counter_ns()
        strategy(0)
        return time.perf_counter_ns() - begin

    assert [idle_ns() >= least for least in (1_000_000, 2_000_000, 4_000_000, 8_000_000, 8_000_000)] == [True] * 5
    strategy(1)
    assert idle_ns() >= 1_000_000


def test_native_agents_go_on_while_python_is_busy() -> None:
    with AgentRunner([NativeAgent(), NativeAgent()], SystemClock(), idle_strategy("yield"), role_name="test") as runner:
        invoker = runner.invoker
        assert runner.is_running
        before = invoker.cycle_count
        sum(range(20_000_000))  # one C call that does not let go of the interpreter lock
        assert invoker.cycle_count > before + 10
    assert not runner.is_running
    assert invoker.is_closed
    with pytest.raises(AerowireError, match="already started"):
        runner.start()


def test_a_runner_tells_on_its_thread_that_it_starts_before_its_agents_do() -> None:
    seen: list[tuple[str, str, int, bool]] = []
    runner = AgentRunner(
        [NativeAgent()],
        SystemClock(),
        idle_strategy("sleep-ms"),
        role_name="test-start",
        on_start=lambda name: seen.append((name, threading.current_thread().name, runner.invoker.cycle_count, runner.is_running)),
    )
    with runner:
        assert seen == [("test-start", "test-start", 0, False)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_runner_whose_start_fails_does_not_run() -> None:
    def fail(_name: str) -> None:
        raise OSError("no")

    runner = AgentRunner([NativeAgent()], SystemClock(), idle_strategy("sleep-ms"), on_start=fail)
    runner.start()
    assert runner.stop(5)
    assert not runner.is_running
    assert runner.invoker.cycle_count == 0


def test_runner_stops_once_and_again() -> None:
    runner = AgentRunner([NativeAgent()], SystemClock(), idle_strategy("sleep-ms"), cpu=10_000)
    assert runner.stop()
    other = AgentRunner([NativeAgent()], SystemClock(), idle_strategy("sleep-ms"))
    other.start()
    assert other.stop(5)
    assert other.stop(5)
    assert "NativeAgent" in other.role_name


def test_invoker_runs_in_the_callers_thread_at_literal_times() -> None:
    invoker = AgentInvoker([NativeAgent()], ManualClock(now_ns=1))
    assert invoker.invoke() == 0
    assert invoker.cycle_count == 0
    with invoker:
        assert invoker.invoke() == invoker.invoke_at(5, 6) == 0
        assert invoker.cycle_count == 2
        assert invoker.next_deadline_ns() == NO_DEADLINE
    assert invoker.is_closed
    assert invoker.invoke() == 0


def test_interpreter_exits_with_a_running_agent() -> None:
    script = (
        "from aerowire.base.runner import AgentRunner, NativeAgent\n"
        "from aerowire.base.idle import idle_strategy\n"
        "from aerowire.system.clock import SystemClock\n"
        "AgentRunner([NativeAgent()], SystemClock(), idle_strategy('backoff')).start()\n"
        "print('end')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_runner_is_poisoned_in_a_forked_child() -> None:
    with AgentRunner([NativeAgent()], SystemClock(), idle_strategy("sleep-ms")) as runner:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                runner.stop()
            except ForkedProcessError:
                code = 0 if not runner.is_running else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert runner.is_running


def test_wakeup_is_one_bit() -> None:
    with Wakeup() as wakeup:
        assert not wakeup.wait(0)
        assert not wakeup.drain()
        wakeup.wake()
        wakeup.wake()
        assert wakeup.signalled
        assert wakeup.wait(5)
        assert wakeup.drain()
        assert not wakeup.wait(0)
    with pytest.raises(ClosedError):
        wakeup.wake()


def test_a_wakeup_is_drained_whole_whichever_of_its_two_steps_was_seen() -> None:
    with Wakeup() as wakeup:
        os.write(wakeup.fileno(), (1).to_bytes(8, sys.byteorder))  # the descriptor is readable, the bit not set: half a signal
        assert wakeup.wait(5)
        assert not wakeup.drain()
        assert not wakeup.wait(0)
        wakeup.wake()
        os.read(wakeup.fileno(), 8)  # the other half: the bit is set, the descriptor is empty
        assert wakeup.drain()
        wakeup.wake()
        assert wakeup.wait(5)


@pytest.mark.threads
def test_wakeup_ends_a_sleep_in_another_thread() -> None:
    with Wakeup() as wakeup:
        timer = threading.Timer(0.02, wakeup.wake)
        timer.start()
        assert wakeup.wait(10)
        timer.join()
