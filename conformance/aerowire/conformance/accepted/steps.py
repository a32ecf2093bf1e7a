"""Steps of a hostile sequence: datagrams and pauses, as a text file that can be replayed, and the search for a shorter one.

A step holds the bytes that were sent, so that a replay needs no generator. A file has one JSON object a line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple


class Step(NamedTuple):
    """One datagram to a target from one of its sockets, or a pause where the payload is empty."""

    target: str
    sender: int
    kind: str
    payload: bytes
    pause_ns: int = 0


def pause(duration_ns: int) -> Step:
    """Return a step in which time passes and nothing is sent."""
    return Step("", 0, "pause", b"", duration_ns)


def to_line(step: Step) -> str:
    """Return a step as one line of a file."""
    if step.pause_ns:
        return json.dumps({"pause_ns": step.pause_ns})
    return json.dumps({"to": step.target, "from": step.sender, "kind": step.kind, "data": step.payload.hex()})


def from_line(line: str) -> Step:
    """Return the step of a line."""
    entry = json.loads(line)
    if "pause_ns" in entry:
        return pause(int(entry["pause_ns"]))
    return Step(entry["to"], int(entry["from"]), entry["kind"], bytes.fromhex(entry["data"]))


def save(path: Path, steps: Iterable[Step], *, remark: str = "") -> None:
    """Write a sequence to a file; a remark becomes a comment in its first line."""
    lines = [f"# {remark}"] if remark else []
    path.write_text("\n".join([*lines, *map(to_line, steps)]) + "\n", encoding="utf-8")


def load(path: Path) -> list[Step]:
    """Read a sequence; lines that begin with # are comments, and a last line that was cut short is left out."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    if lines and not lines[-1].endswith("}"):
        lines.pop()
    return [from_line(line) for line in lines]


def minimise(steps: list[Step], fails: Callable[[list[Step]], bool], *, tries: int = 400) -> list[Step]:
    """Return a shorter sequence that still fails: parts are left out as long as it fails without them (delta debugging).

    `fails` is called at most `tries` times.
    """
    pieces = 2
    while len(steps) >= 2 and tries > 0:
        size = -(-len(steps) // pieces)
        for start in range(0, len(steps), size):
            shorter = steps[:start] + steps[start + size :]
            tries -= 1
            if shorter and fails(shorter):
                steps = shorter
                pieces = max(pieces - 1, 2)
                break
            if tries <= 0:
                break
        else:
            if size == 1:
                break
            pieces = min(pieces * 2, len(steps))
    return steps
