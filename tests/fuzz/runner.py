"""Runs the worker of a target, and saves what a worker that failed was doing: its input, shortened, and what it printed."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.worker import before_path, pack_inputs, read_state

MINIMISE_S = 30.0
SUMMARY_MAX = 300
# Lines that tell what was found, best first.
_SUMMARIES = (
    re.compile(r"runtime error: .*"),
    re.compile(r"ERROR: AddressSanitizer: .*"),
    re.compile(r"fuzz: execution exceeds .*"),
    re.compile(r"Fatal Python error: .*"),
    re.compile(r"^[\w.]*(?:Error|Exception|Interrupt)\b.*", re.MULTILINE),
)
# A frame of a report that lies in code of the project.
_FRAME = re.compile(r"#\d+ 0x[0-9a-f]+ in (\S+) .*/((?:aerowire|native)/\S+)")


@dataclass(frozen=True)
class Run:
    """What to do with one target; it ends at the first limit, or after `most` findings."""

    target: str
    seed: int
    executions: int
    seconds: float
    findings: Path
    keep: Path | None = None
    condense: Path | None = None
    most: int = 1


@dataclass(frozen=True)
class Finding:
    """An input that failed."""

    seed: int
    executions: int
    summary: str
    path: Path


def run_target(run: Run) -> list[Finding]:
    """Fuzz one target; return what was found, each kind once."""
    found: dict[str, Finding] = {}
    done, seed = 0, run.seed
    deadline = time.monotonic() + run.seconds
    workers = 0
    with tempfile.TemporaryDirectory(prefix="aw-fuzz-") as scratch:
        state, report = Path(scratch) / "state", Path(scratch) / "report"
        while len(found) < run.most and workers < 4 * run.most and done < run.executions and time.monotonic() < deadline:
            workers += 1
            arguments = [run.target, f"--seed={seed}", f"--executions={run.executions - done}"]
            arguments += [f"--seconds={deadline - time.monotonic()}", f"--state={state}"]
            arguments += [f"--keep={run.keep}"] if run.keep else []
            arguments += [f"--condense={run.condense}"] if run.condense else []
            if _work(arguments, report):
                break
            executions, inputs = read_state(state) if state.exists() else (0, [])
            done += executions
            said = report.read_text(errors="replace")
            summary = _summary(said)
            if summary not in found:
                found[summary] = Finding(seed, executions, summary, _save(run, inputs, said))
            seed += 1
    return list(found.values())


def _work(arguments: list[str], report: Path) -> bool:
    """Run a worker, its errors into `report`, its files beside that; return whether it ended well."""
    with report.open("w") as errors:
        command = [sys.executable, "-m", "tests.fuzz.worker", *arguments]
        environment = {**os.environ, "TMPDIR": str(report.parent)}
        return subprocess.run(command, stderr=errors, stdin=subprocess.DEVNULL, check=False, env=environment).returncode == 0


def _summary(said: str) -> str:
    line = next(
        (match[0] for pattern in _SUMMARIES if (match := pattern.search(said))), " ".join(said.split())[-200:] or "ended without a word"
    )
    frames = [f"{match[1]} {match[2]}" for match in _FRAME.finditer(said)]
    # Addresses differ between runs; what is found does not.
    return re.sub(r"0x[0-9a-f]{6,}", "0x..", " | ".join([line[:SUMMARY_MAX], *frames[:2]]))


def _save(run: Run, inputs: list[bytes], said: str) -> Path:
    """Save a finding: the input, the shortened input, the inputs before it that it needs, and the report."""
    data = inputs[-1] if inputs else b""
    run.findings.mkdir(parents=True, exist_ok=True)
    path = run.findings / f"{run.target}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.with_suffix(".full").write_bytes(data)
    path.with_suffix(".txt").write_text(said)
    path.write_bytes(data)
    before_path(path).write_bytes(pack_inputs(inputs[:-1]))
    command = [sys.executable, "-m", "tests.fuzz.worker", run.target, f"--minimise={path}", f"--seconds={MINIMISE_S}"]
    command.append(f"--state={path.with_suffix('.state')}")
    subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=10 * MINIMISE_S)
    path.with_suffix(".state").unlink(missing_ok=True)
    return path
