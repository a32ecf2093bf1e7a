"""The contract of agents: what an invoker and a runner do with lists of native and Python ones."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from aerowire.aio.watcher import I64_CHANGE, Watcher
from aerowire.base.agent import Agent
from aerowire.base.errors import AerowireError
from aerowire.base.idle import idle_strategy
from aerowire.base.runner import AgentInvoker, AgentRunner, NativeAgent
from aerowire.base.units import INT64_MAX
from aerowire.system.clock import ManualClock, SystemClock
from aerowire.system.wakeup import Wakeup
from tests.support.waiting import wait_until

LIMIT_S = 10.0


class Noted(Agent):
    """An agent that appends its calls to a list, which several agents may share, and raises in the methods chosen."""

    def __init__(self, name: str, notes: list[tuple[object, ...]], *, fails: str = "", deadline_ns: int = INT64_MAX) -> None:
        self.role_name = name
        self._notes = notes
        self.fails = fails
        self.deadline_ns = deadline_ns
        self.work: Callable[[], int] = lambda: 0

    def on_start(self) -> None:
        self._note("on_start")

    def do_work(self, now_ns: int, epoch_ms: int, /) -> int:
        self._note("do_work", now_ns, epoch_ms)
        return self.work()

    def next_deadline_ns(self) -> int:
        return self.deadline_ns

    def on_close(self) -> None:
        self._note("on_close")

    def _note(self, what: str, *times: int) -> None:
        self._notes.append((self.role_name, what, *times))
        if self.fails == what:
            raise ValueError(f"{self.role_name}: {what}")


class Bed:
    """A sleeper that notes how long it is to sleep, and sleeps until it is woken."""

    def __init__(self) -> None:
        self.timeouts_ns: list[int] = []
        self._woken = threading.Semaphore(0)

    def sleep(self, timeout_ns: int, /) -> None:
        self.timeouts_ns.append(timeout_ns)
        self._woken.acquire(timeout=LIMIT_S)

    def wake(self) -> None:
        self._woken.release()

    def wait_for_sleeps(self, count: int) -> None:
        wait_until(lambda: len(self.timeouts_ns) >= count, lambda: self.timeouts_ns)
        assert len(self.timeouts_ns) == count


class TestInvoker:
    def test_agents_start_work_and_close_in_order_and_with_one_time(self) -> None:
        notes: list[tuple[object, ...]] = []
        invoker = AgentInvoker([Noted("a", notes), Noted("b", notes)], ManualClock(now_ns=5, epoch_ms=6))
        assert invoker.role_name == "a+b"
        assert invoker.invoke() == 0
        assert notes == []
        invoker.start()
        invoker.start()
        invoker.invoke()
        invoker.invoke_at(7, 8)
        invoker.close()
        invoker.close()
        assert invoker.invoke() == 0
        assert invoker.cycle_count == 2
        names, calls = ("a", "b"), (("on_start",), ("do_work", 5, 6), ("do_work", 7, 8), ("on_close",))
        assert notes == [(name, *call) for call in calls for name in names]

    def test_work_and_deadlines_of_all_agents_count(self) -> None:
        early, late = Noted("early", [], deadline_ns=3), Noted("late", [], deadline_ns=4)
        early.work, late.work = lambda: 2, lambda: 5
        with AgentInvoker([NativeAgent(), late, early, NativeAgent()], SystemClock()) as invoker:
            assert invoker.invoke() == 7
            assert invoker.next_deadline_ns() == 3
        assert AgentInvoker([Agent(), NativeAgent()], SystemClock()).next_deadline_ns() == INT64_MAX

    @pytest.mark.parametrize("is_native_last", [False, True])
    def test_native_and_python_agents_take_turns_in_the_order_given(self, is_native_last: bool) -> None:
        memory = np.zeros(1, dtype=np.int64)
        seen: list[list[int]] = []
        before, after = Noted("before", []), Noted("after", [])
        with Wakeup() as bell:
            watcher = Watcher(bell)
            watch = watcher.add()
            watcher.arm_memory(watch, I64_CHANGE, memory)

            def change() -> int:
                memory[0] = 1
                return 0

            def look() -> int:
                seen.append(watcher.take_fired())
                return 0

            before.work, after.work = change, look
            last: list[NativeAgent | Agent] = [after, watcher] if is_native_last else [watcher, after]
            with AgentInvoker([before, NativeAgent(), *last], SystemClock()) as invoker:
                invoker.invoke()
                assert seen == [[] if is_native_last else [watch]]
                invoker.invoke()
        assert [one for fired in seen for one in fired] == [watch]

    def test_native_agents_run_alone_for_a_caller_that_wakes_the_others(self) -> None:
        memory = np.zeros(1, dtype=np.int64)
        notes: list[tuple[object, ...]] = []
        with Wakeup() as bell:
            watcher = Watcher(bell)
            watch = watcher.add()
            watcher.arm_memory(watch, I64_CHANGE, memory)
            invoker = AgentInvoker([Noted("python", notes, deadline_ns=3), watcher], SystemClock())
            memory[0] = 1
            assert invoker.invoke_native() == 0
            assert watcher.take_fired() == []
            with invoker:
                invoker.invoke_native()
                assert watcher.take_fired() == [watch]
                assert invoker.cycle_count == 1
                assert (invoker.next_deadline_ns(), invoker.next_native_deadline_ns()) == (3, INT64_MAX)
        assert [what for _, what in notes] == ["on_start", "on_close"]

    def test_what_an_agent_raises_ends_the_cycle_and_not_the_invoker(self) -> None:
        notes: list[tuple[object, ...]] = []
        bad = Noted("bad", notes, fails="do_work")
        with AgentInvoker([bad, Noted("next", notes)], SystemClock()) as invoker:
            with pytest.raises(ValueError, match="bad: do_work"):
                invoker.invoke_at(1, 2)
            bad.fails = ""
            invoker.invoke_at(3, 4)
        assert [note for note in notes if note[1] == "do_work"] == [
            ("bad", "do_work", 1, 2),
            ("bad", "do_work", 3, 4),
            ("next", "do_work", 3, 4),
        ]

    def test_agents_that_did_not_start_are_not_closed(self) -> None:
        notes: list[tuple[object, ...]] = []
        invoker = AgentInvoker([Noted("a", notes), Noted("b", notes, fails="on_start"), Noted("c", notes)], SystemClock())
        with pytest.raises(ValueError, match="b: on_start"):
            invoker.start()
        invoker.close()
        assert notes == [("a", "on_start"), ("b", "on_start"), ("a", "on_close"), ("b", "on_close")]

    def test_an_agent_that_cannot_close_keeps_no_other_from_it(self) -> None:
        notes: list[tuple[object, ...]] = []
        invoker = AgentInvoker([Noted("a", notes, fails="on_close"), NativeAgent(), Noted("b", notes, fails="on_close")], SystemClock())
        invoker.start()
        with pytest.raises(ValueError, match="a: on_close"):
            invoker.close()
        assert notes[2:] == [("a", "on_close"), ("b", "on_close")]
        assert invoker.is_closed

    def test_an_agent_may_close_its_invoker(self) -> None:
        notes: list[tuple[object, ...]] = []
        first, second = Noted("first", notes), Noted("second", notes)
        invoker = AgentInvoker([first, second, NativeAgent()], SystemClock())

        def close() -> int:
            invoker.close()
            return 1

        first.work = close
        invoker.start()
        assert invoker.invoke() == 1
        assert notes[-2:] == [("first", "on_close"), ("second", "on_close")]


@pytest.mark.threads
class TestRunner:
    def test_python_agents_sleep_until_their_deadline_or_until_woken(self) -> None:
        notes: list[tuple[object, ...]] = []
        agent, bed, clock = Noted("agent", notes), Bed(), ManualClock(now_ns=100)
        works = iter([1, 1])
        agent.work = lambda: next(works, 0)
        with AgentRunner([agent], clock, bed) as runner:
            assert runner.role_name == "agent"
            bed.wait_for_sleeps(1)
            assert [note[1] for note in notes] == ["on_start", "do_work", "do_work", "do_work"]  # no sleep after work
            for deadline_ns in (1_100, 50):
                agent.deadline_ns = deadline_ns
                bed.wake()
                bed.wait_for_sleeps(len(bed.timeouts_ns) + 1)
            assert bed.timeouts_ns == [1_000_000_000, 1_000, 0]
            assert runner.is_running
        assert not runner.is_running
        assert runner.invoker.is_closed
        assert notes[-1] == ("agent", "on_close")
        with pytest.raises(AerowireError, match="already started"):
            runner.start()

    def test_a_wake_up_from_before_the_sleep_ends_it_at_once(self) -> None:
        agent = Agent()
        cycles: list[int] = []
        agent.do_work = lambda now_ns, _epoch_ms: cycles.append(now_ns) or 0  # type: ignore[method-assign,func-returns-value]
        with Wakeup() as wakeup, AgentRunner([agent], SystemClock(), wakeup):
            wait_until(lambda: len(cycles) >= 50, lambda: cycles, work=wakeup.wake)

    def test_what_a_cycle_raises_goes_to_on_error_and_the_thread_goes_on(self) -> None:
        errors: list[str] = []
        agent, bed = Noted("agent", [], fails="do_work"), Bed()
        with AgentRunner([agent, NativeAgent()], SystemClock(), bed, on_error=lambda error: errors.append(str(error))):
            bed.wait_for_sleeps(1)
            bed.wake()
            bed.wait_for_sleeps(2)
            agent.fails = ""
            bed.wake()
            bed.wait_for_sleeps(3)
        assert errors == ["agent: do_work"] * 2

    @pytest.mark.parametrize("fails", ["on_start", "do_work"])
    def test_what_nobody_takes_ends_the_thread_and_closes_the_agent(self, fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
        lost: list[threading.ExceptHookArgs] = []
        monkeypatch.setattr(threading, "excepthook", lost.append)
        notes: list[tuple[object, ...]] = []
        runner = AgentRunner([Noted("agent", notes, fails=fails)], SystemClock(), Bed())
        runner.start()
        assert runner.stop(LIMIT_S)
        assert not runner.is_running
        assert [str(args.exc_value) for args in lost] == [f"agent: {fails}"]
        assert notes[-1] == ("agent", "on_close")

    def test_a_factory_s_thread_is_not_waited_for_and_stop_does_not_wait_for_itself(self) -> None:
        go_on = threading.Event()
        made: list[threading.Thread] = []
        stops: list[bool] = []

        def factory(target: Callable[[], None], name: str) -> threading.Thread:
            def run() -> None:
                go_on.wait(LIMIT_S)
                target()

            made.append(threading.Thread(target=run, name=f"mine of {name}"))
            return made[0]

        agent = Noted("agent", [])
        runner = AgentRunner([agent], SystemClock(), Bed(), thread_factory=factory, on_start=lambda name: stops.append(name == "agent"))

        def stop() -> int:
            stops.append(runner.stop())
            return 1

        agent.work = stop
        runner.start()
        assert not runner.is_running
        assert stops == []
        go_on.set()
        made[0].join(LIMIT_S)
        assert stops == [True, False]
        assert runner.stop()
        assert made[0].name == "mine of agent"

    def test_a_python_agent_sleeps_where_a_native_one_idles(self) -> None:
        with pytest.raises(TypeError):
            AgentRunner([NativeAgent()], SystemClock(), Bed())
        with pytest.raises(AttributeError):
            AgentRunner([Agent()], SystemClock(), idle_strategy("noop"))
