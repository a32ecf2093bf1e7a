"""Hold tests to time that they choose: none reads a clock, sleeps or probes for a free port but by tests.support.

Tests between processes (interop, soak) and of the system's own clocks (system) stand outside, as does what a child process is told to run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
OUTSIDE = {"interop", "soak", "system"}
CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "sleep", "time", "time_ns"}

# Files that may, or a name in one of them: why.
EXCEPTIONS = {
    "aio/test_watcher.py": "threads race for microseconds around a sleep of the watcher",
    "cluster/replay/replayed_services.py": "services that read a clock are to be found by it",
    "conformance/injector.py": "the faults are delays, which the cases measure",
    "conformance/test_wire.py": "the kernel's time stamps are compared with the clock",
    "driver/test_media_driver.py:test_a_controllable_idle_strategy_parks_until_it_is_told": "counts cycles of a thread in a time",
    "driver/test_media_driver.py:test_an_idle_driver_sleeps": "measures the processor time of a time without work",
    "fuzz/grammar/run.py": "a campaign lasts as long as it is told to",
    "fuzz/runner.py": "a campaign lasts as long as it is told to",
    "fuzz/worker.py": "a campaign lasts as long as it is told to",
    "support/compiler.py": "forgets what a month has not used",
    "support/hostile/wire.py": "paces datagrams to a real driver",
    "support/peers": "programs in processes of their own",
    "support/processes.py": "bounds what is read from child processes; gives ports away",
    "support/terminal.py": "bounds what is read from a terminal",
    "support/waiting.py": "bounds every other wait",
}


def uses(source: str) -> Iterator[tuple[str, str]]:
    """Yield the innermost function and the name of each use of a clock, of a sleep, and of a port that was free a moment ago."""
    yield from _uses(ast.parse(source), "")


def _uses(node: ast.AST, function: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (not function or node.name.startswith("test_")):
        function = node.name
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "time" and node.attr in CLOCKS:
        yield function, f"time.{node.attr}"
    elif isinstance(node, ast.ImportFrom) and node.module == "time":
        yield from ((function, f"time.{alias.name}") for alias in node.names if alias.name in CLOCKS)
    elif isinstance(node, ast.With):
        yield from ((function, "a probed port") for inner in node.body for part in ast.walk(inner) if _is_probe(part))
    for child in ast.iter_child_nodes(node):
        yield from _uses(child, function)


def _is_probe(node: ast.AST) -> bool:
    """Whether a socket's own address leaves the block that closes the socket."""
    return isinstance(node, ast.Return) and node.value is not None and "getsockname()" in ast.unparse(node.value)


@cache
def found() -> tuple[tuple[str, str, str], ...]:
    """Return path, function and use of each."""
    return tuple(_found())


def _found() -> Iterator[tuple[str, str, str]]:
    for path in sorted(TESTS.rglob("*.py")):
        name = path.relative_to(TESTS).as_posix()
        if name.split("/")[0] not in OUTSIDE:
            yield from ((name, function, use) for function, use in uses(path.read_text()))


def excepted(name: str, function: str) -> str | None:
    """Return the exception that a use stands under."""
    return next((key for key in (f"{name}:{function}", name, name.rpartition("/")[0]) if key in EXCEPTIONS), None)


def test_clocks_and_sleeps_stand_only_where_a_reason_is_given() -> None:
    assert [use for use in found() if excepted(*use[:2]) is None] == []


def test_every_exception_is_needed() -> None:
    assert {excepted(name, function) for name, function, _ in found()} - {None} == set(EXCEPTIONS)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import time\ntime.sleep(1)", [("", "time.sleep")]),
        ("def test_a():\n    while time.monotonic() < end:\n        pass", [("test_a", "time.monotonic")]),
        ("class A:\n    def test_b(self):\n        def inner():\n            time.time_ns()", [("test_b", "time.time_ns")]),
        ("from time import perf_counter, process_time", [("", "time.perf_counter")]),
        ("with socket.socket() as s:\n    s.bind(('', 0))\n    port = s\n", []),
        ("def port():\n    with socket.socket() as s:\n        return s.getsockname()[1]", [("port", "a probed port")]),
        ("code = 'import time; time.sleep(60)'\ncpu = time.process_time()\nfake.time.sleep(1)", []),
    ],
)
def test_uses_are_found(source: str, expected: list[tuple[str, str]]) -> None:
    assert list(uses(source)) == expected
