"""Calls that may take long run in turn on a thread of their own, and a shutdown waits for none that hangs."""

from __future__ import annotations

import threading
import weakref

import pytest

from aerowire.agents.worker_thread import WorkerThread
from tests.support.waiting import wait_until

LIMIT_S = 20.0


def test_runs_calls_in_turn_on_one_thread_of_its_name() -> None:
    def named(number: int) -> tuple[int, str]:
        return number, threading.current_thread().name

    lookups = WorkerThread("finder")
    futures = [lookups.submit(named, number) for number in range(3)]
    assert [future.result(LIMIT_S) for future in futures] == [(0, "finder"), (1, "finder"), (2, "finder")]
    lookups.shutdown()


def test_hands_on_what_a_call_raises() -> None:
    lookups = WorkerThread("finder")
    failed = lookups.submit(int, "seven")
    with pytest.raises(ValueError, match="seven"):
        failed.result(LIMIT_S)
    assert lookups.submit(int, "7").result(LIMIT_S) == 7
    lookups.shutdown()


def test_keeps_nothing_of_a_call_that_has_ended() -> None:
    class Subject: ...

    lookups = WorkerThread("finder")
    subject = Subject()
    alive = weakref.ref(subject)
    lookups.submit(repr, subject).result(LIMIT_S)
    del subject
    wait_until(lambda: alive() is None, "the thread still refers to what its last call was given")
    lookups.shutdown()


def test_a_shutdown_cancels_what_has_not_begun_and_waits_for_nothing() -> None:
    begun, released = threading.Event(), threading.Event()

    def hang() -> str:
        begun.set()
        released.wait(LIMIT_S)
        return "found"

    lookups = WorkerThread("finder")
    hanging, waiting = lookups.submit(hang), lookups.submit(hang)
    assert begun.wait(LIMIT_S)
    lookups.shutdown(wait=False, cancel_futures=True)
    assert waiting.cancelled()
    assert not hanging.done()
    with pytest.raises(RuntimeError, match="finder"):
        lookups.submit(hang)
    released.set()
    assert hanging.result(LIMIT_S) == "found"
    lookups.shutdown()
