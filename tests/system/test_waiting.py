"""Waiting by the operating system: it is never refused, and time passes."""

from __future__ import annotations

from aerowire.system.waiting import SystemWaiting

MS = 1_000_000


def test_a_sleep_takes_its_time() -> None:
    waiting = SystemWaiting()
    waiting.require("call", "another")
    assert not waiting.is_refused
    begin_ns = waiting.now_ns()
    waiting.sleep(2 * MS)
    assert waiting.now_ns() - begin_ns >= 2 * MS
