"""One process that fuzzes one target: python -m tests.fuzz.worker TARGET --seed S [...]. tests.fuzz (__main__.py) starts it.

Before each execution the input goes into a file that the parent reads when this process dies. It ends with 0 when all executions were
good, with EXIT_FINDING after printing what was found, or by a signal or a sanitizer's exit code.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import mmap
import os
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.fuzz.catalogue import TARGETS, make_target
from tests.fuzz.engine import INPUT_LENGTH_MAX, Engine
from tests.fuzz.memory import allocated_bytes
from tests.fuzz.target import Target

EXIT_FINDING = 79
CORPUS = Path(__file__).parent / "corpus"
# Every poll returns within this much processor time; an execution has several polls.
EXECUTION_LIMIT_NS = 100_000_000
HANG_LIMIT_MS = 5_000
# Memory is looked at after so many executions each time, from when caches and corpus are mostly filled. Without a sanitizer, freed memory
# that the allocator keeps counts as well.
GROWTH_LIMIT = 48 << 20
MEMORY_INTERVAL = 1_024
MEMORY_FROM = 8_192
PROGRESS_S = 10.0
STATE_HEADER = struct.Struct("<QI")  # executions before this one, inputs in the file
INPUT_HEADER = struct.Struct("<I")  # length of an input
# Executions that share the objects of a target.
LIFETIME = 64
STATE_LENGTH = STATE_HEADER.size + LIFETIME * INPUT_HEADER.size + 2 * INPUT_LENGTH_MAX


Tracer = Callable[[FrameType, str, Any], Any]


class StateFile:
    """The input under way, after those that ran on the same objects, as the parent finds them."""

    def __init__(self, path: Path) -> None:
        with path.open("w+b") as file:
            file.truncate(STATE_LENGTH)
            self._map = mmap.mmap(file.fileno(), 0)
        self.clear()

    def clear(self) -> None:
        """Forget the inputs: the next one runs on new objects."""
        self._count, self._at = 0, STATE_HEADER.size

    def has_room(self, length: int) -> bool:
        """Return whether an input fits behind the others."""
        return self._count < LIFETIME and self._at + INPUT_HEADER.size + length <= STATE_LENGTH

    def put(self, number: int, data: bytes) -> None:
        """Add an input. The count comes last: a parent sees whole inputs only."""
        INPUT_HEADER.pack_into(self._map, self._at, len(data))
        self._at += INPUT_HEADER.size
        self._map[self._at : self._at + len(data)] = data
        self._at += len(data)
        self._count += 1
        STATE_HEADER.pack_into(self._map, 0, number, self._count)


def read_state(path: Path) -> tuple[int, list[bytes]]:
    """Return how many executions a worker had done, and the inputs since the last renewal; the last one is under way."""
    raw = path.read_bytes()
    number, count = STATE_HEADER.unpack_from(raw)
    return number, unpack_inputs(raw[STATE_HEADER.size :], count)


def pack_inputs(inputs: Sequence[bytes]) -> bytes:
    """Return inputs as the bytes of one file."""
    return b"".join(INPUT_HEADER.pack(len(data)) + data for data in inputs)


def unpack_inputs(raw: bytes, count: int = 1 << 30) -> list[bytes]:
    """Return the first `count` inputs of a file."""
    inputs: list[bytes] = []
    at = 0
    while at < len(raw) and len(inputs) < count:
        (length,) = INPUT_HEADER.unpack_from(raw, at)
        at += INPUT_HEADER.size + length
        inputs.append(raw[at - length : at])
    return inputs


def before_path(path: Path) -> Path:
    """Return where the inputs are that run before the one at `path`, if it needs any."""
    return path.with_suffix(".before")


def read_before(path: Path) -> list[bytes]:
    """Return the inputs that run before the one at `path`."""
    before = before_path(path)
    return unpack_inputs(before.read_bytes()) if before.exists() else []


class LineCoverage:
    """The lines that Python code runs, of files whose paths contain one of `traced`."""

    def __init__(self, traced: tuple[str, ...]) -> None:
        self._traced = traced
        # By id of the code object, whose own hash takes longer than a line does; the objects are kept, so that the ids stay theirs.
        self._codes: dict[int, CodeType] = {}
        self._tracers: dict[int, Tracer | None] = {}
        self._now: dict[int, set[int]] = {}
        self._seen: dict[int, set[int]] = {}

    def __enter__(self) -> None:
        for lines in self._now.values():
            lines.clear()
        sys.settrace(self._on_call)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _on_call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        try:
            return self._tracers[id(code)]
        except KeyError:
            self._codes[id(code)] = code
            is_wanted = any(part in code.co_filename for part in self._traced)
            tracer = self._tracers[id(code)] = self._make_tracer(id(code)) if is_wanted else None
            return tracer

    def _make_tracer(self, code_id: int) -> Tracer:
        lines = self._now[code_id] = set()
        self._seen[code_id] = set()

        def on_line(frame: FrameType, _event: str, _argument: Any) -> Any:
            lines.add(frame.f_lineno)
            return on_line

        return on_line

    def news(self) -> int:
        news = 0
        for code_id, lines in self._now.items():
            seen = self._seen[code_id]
            if not lines <= seen:
                news += len(lines - seen)
                seen |= lines
        return news

    def lines_seen(self) -> int:
        return sum(map(len, self._seen.values()))

    def lines_now(self) -> frozenset[tuple[CodeType, int]]:
        return frozenset((self._codes[code_id], line) for code_id, lines in self._now.items() for line in lines)


class Worker:
    """Keeps a corpus of inputs that each ran something new, and runs mutations of them."""

    def __init__(self, target: Target, engine: Engine, state: StateFile) -> None:
        self.target = target
        self.engine = engine
        self.state = state
        self.lines = LineCoverage(target.traced) if target.traced else None
        self.corpus: list[bytes] = []
        self.executions = 0
        self.allocated_at_first = 0
        self._renew = getattr(target, "renew", None)

    def execute(self, data: bytes) -> int:
        """Run one input; return how much of what it ran is new."""
        if self._renew is None or not self.state.has_room(len(data)):
            self.state.clear()
            if self._renew is not None:
                self._renew()
        self.state.put(self.executions, data)
        self.executions += 1
        self.engine.limit(HANG_LIMIT_MS)
        before = self.engine.cpu_ns()
        self.engine.begin()
        try:
            with self.lines or contextlib.nullcontext():
                self.target.execute(data)
        finally:
            self.engine.end()
        taken = self.engine.cpu_ns() - before
        if taken > EXECUTION_LIMIT_NS and not self.lines:
            self.check_slow(data, taken)
        return self.engine.news() + (self.lines.news() if self.lines else 0)

    def check_slow(self, data: bytes, taken: int) -> None:
        """A slow execution is a finding when it is slow again, twice: caches and page faults make the first one slow."""
        for _ in range(2):
            before = self.engine.cpu_ns()
            self.target.execute(data)
            taken = min(taken, self.engine.cpu_ns() - before)
        if taken > EXECUTION_LIMIT_NS:
            raise AssertionError(f"an execution takes {taken / 1e6:.0f} ms of processor time")

    def add(self, data: bytes) -> bool:
        """Run an input and keep it if it runs something new."""
        if not self.execute(data):
            return False
        self.corpus.append(data)
        return True

    def fuzz(self, executions: int, seconds: float, keep: Path | None) -> None:
        """Run the corpus, then mutations of it, until one of the limits."""
        started = told = time.monotonic()
        for data in self.beginning(keep):
            self.execute(data[: self.target.length_max])
            self.corpus.append(data[: self.target.length_max])
        while self.executions < executions:
            if self.executions % 64 == 0:
                now = time.monotonic()
                if now - started > seconds:
                    break
                if now - told > PROGRESS_S:
                    told = now
                    self.tell(now - started)
            if self.executions % MEMORY_INTERVAL == 0:
                self.check_memory()
            data = self.engine.mutate(self.pick(), self.corpus[self.engine.below(len(self.corpus))], self.target.length_max)
            if self.add(data) and keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{self.executions:012}").write_bytes(data)
        self.engine.limit(0)
        self.tell(time.monotonic() - started)

    def beginning(self, keep: Path | None) -> Iterator[bytes]:
        """Yield the seeds, the corpus that is checked in, and what an earlier run has kept."""
        yield from self.target.seeds()
        for folder in (CORPUS / self.target.name, keep):
            if folder is not None and folder.is_dir():
                for path in sorted(folder.iterdir()):
                    yield path.read_bytes()

    def pick(self) -> bytes:
        """Return one of the corpus; half of the time one of the last that were added."""
        count = len(self.corpus)
        if count > 16 and self.engine.below(2):
            return self.corpus[count - 1 - self.engine.below(count // 8)]
        return self.corpus[self.engine.below(count)]

    def check_memory(self) -> None:
        """Fail when the process has grown by more than the corpus accounts for."""
        if self.executions <= MEMORY_FROM:
            gc.collect()
            self.allocated_at_first = allocated_bytes()
        elif allocated_bytes() - self.allocated_at_first > GROWTH_LIMIT:
            gc.collect()  # agents are cycles of objects, with memory that the collector does not see
            growth = allocated_bytes() - self.allocated_at_first
            if growth <= GROWTH_LIMIT:
                return
            raise AssertionError(f"the process grew by {growth >> 20} MiB within {self.executions} executions")

    def tell(self, seconds: float) -> None:
        lines = f", {self.lines.lines_seen()} lines" if self.lines else ""
        print(
            f"{self.target.name}: {self.executions} executions, {self.executions / max(seconds, 0.001):.0f}/s, "
            f"{self.engine.edges_seen()} edges{lines}, corpus {len(self.corpus)}",
            flush=True,
        )


def is_bad(target: Target, engine: Engine, data: bytes, before: Sequence[bytes] = ()) -> bool:
    """Run an input in a fork, after others; return whether that was a finding."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            for earlier in before:
                engine.limit(HANG_LIMIT_MS)
                target.execute(earlier)
            engine.limit(HANG_LIMIT_MS)
            started = engine.cpu_ns()
            target.execute(data)
            code = int(engine.cpu_ns() - started > EXECUTION_LIMIT_NS and not target.traced)
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] != 0


def minimise_before(target: Target, engine: Engine, data: bytes, before: list[bytes], seconds: float) -> list[bytes]:
    """Return those of the inputs before `data` that are needed to make it a finding."""
    if not before or is_bad(target, engine, data):
        return []
    deadline = time.monotonic() + seconds
    for at in reversed(range(len(before))):
        if time.monotonic() < deadline and is_bad(target, engine, data, before[:at] + before[at + 1 :]):
            before = before[:at] + before[at + 1 :]
    return before


def minimise(target: Target, engine: Engine, data: bytes, seconds: float, before: Sequence[bytes] = ()) -> bytes:
    """Return a shorter input that is still a finding after the inputs of `before`, with as many zeros as it can have."""
    deadline = time.monotonic() + seconds
    chunk = max(1, len(data) // 2)
    while chunk and time.monotonic() < deadline:
        at = 0
        while at < len(data) and time.monotonic() < deadline:
            shorter = data[:at] + data[at + chunk :]
            zeroed = data[:at] + bytes(len(data[at : at + chunk])) + data[at + chunk :]
            if shorter and is_bad(target, engine, shorter, before):
                data = shorter
                continue
            if zeroed != data and is_bad(target, engine, zeroed, before):
                data = zeroed
            at += chunk
        chunk //= 2
    return data


def minimise_file(target: Target, engine: Engine, path: Path, seconds: float) -> None:
    """Shorten the input at `path`, and the inputs before it, in place."""
    data = path.read_bytes()
    before = minimise_before(target, engine, data, read_before(path), seconds)
    if before:
        before_path(path).write_bytes(pack_inputs(before))
    else:
        before_path(path).unlink(missing_ok=True)
    path.write_bytes(minimise(target, engine, data, seconds, before))


def condense(worker: Worker) -> list[bytes]:
    """Return the fewest inputs, shortest first, that together run all that the corpus runs."""
    traces = []
    for data in worker.corpus:
        worker.execute(data)
        lines: frozenset[Any] = worker.lines.lines_now() if worker.lines else frozenset()
        traces.append((len(data), data, worker.engine.trace() | lines))
    kept: list[tuple[bytes, frozenset[Any]]] = []
    covered: set[Any] = set()
    for _, data, trace in sorted(traces, key=lambda item: (item[0], item[1])):
        if trace - covered:
            covered |= trace
            kept.append((data, trace))
    # From the longest to the shortest, drop what the others cover.
    counts: dict[Any, int] = {}
    for _, trace in kept:
        for edge in trace:
            counts[edge] = counts.get(edge, 0) + 1
    needed = []
    for data, trace in reversed(kept):
        if all(counts[edge] > 1 for edge in trace):
            for edge in trace:
                counts[edge] -= 1
        else:
            needed.append(data)
    return needed


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz one target in this process.")
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--executions", type=int, default=1 << 62)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--keep", type=Path, help="folder for inputs that ran something new")
    parser.add_argument("--minimise", type=Path, metavar="INPUT", help="shorten this input in place")
    parser.add_argument("--replay", type=Path, metavar="INPUT", help="run this input once")
    parser.add_argument("--condense", type=Path, metavar="FOLDER", help="write the corpus there, without inputs that add nothing")
    arguments = parser.parse_args()
    if "AEROWIRE_SANITIZE" not in os.environ:  # a sanitizer prints better stacks
        faulthandler.enable()
    engine = Engine(arguments.seed)
    engine.guard(True)
    target = make_target(arguments.target)
    engine = Engine(arguments.seed, target.words)
    if arguments.minimise:
        minimise_file(target, engine, arguments.minimise, arguments.seconds)
        return 0
    # A collection walks what has been made from now on, and not every imported module.
    gc.collect()
    gc.freeze()
    worker = Worker(target, engine, StateFile(arguments.state))
    try:
        if arguments.replay:
            for data in (*read_before(arguments.replay), arguments.replay.read_bytes()):
                worker.execute(data)
        else:
            worker.fuzz(arguments.executions, arguments.seconds, arguments.keep)
            if arguments.condense:
                arguments.condense.mkdir(parents=True, exist_ok=True)
                for number, data in enumerate(condense(worker)):
                    (arguments.condense / f"{number:04}-{len(data)}").write_bytes(data)
    except Exception:
        traceback.print_exc()
        return EXIT_FINDING
    return 0


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    outcome = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(outcome)  # what the interpreter frees at its end is no part of a target
