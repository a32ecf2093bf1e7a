"""A capture larger than any memory it is given: read by the core, analysed, indexed, read and analysed on Spark with a driver of 1 GiB.

Counts and sums are those that the builder of the capture knows.  What a process takes is the kernel's own record of its largest resident
set (VmHWM): workers of Spark write theirs down after each task, and all processes are looked at while they run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.soak.bars import Part, Size
from tests.support.captures.flow import STREAMS, Flow, write_flow
from tests.support.proc import command_of, descendants, peak_resident_of
from tests.support.processes import ROOT
from tests.support.spark.measured_daemon import FOLDER
from tests.support.spark.sessions import need_spark

SEED = 21
GIB, MIB = 1 << 30, 1 << 20
LENGTHS = {Size.FULL: 5 * GIB, Size.SMALL: 32 * MIB}
SPLITS = {Size.FULL: "128m", Size.SMALL: "4m"}
# Of one process, its libraries included: those alone take a good 100 MiB.
PEAK_MAX = {Size.FULL: 1_000_000_000, Size.SMALL: 400 * MIB}
# At either size: the core holds some batches, whatever the file's length; its analysis a few bytes of each frame.
CORE_PEAK_MAX = {"core": 400 * MIB, "index": 400 * MIB, "analyse-core": 900 * MIB}
LIMIT_S = {Size.FULL: 3600.0, Size.SMALL: 240.0}
SAMPLE_S = 0.05  # the kernel keeps the largest: only a process that begins and ends between two looks is missed
Expected = Callable[[Flow], dict[str, Any]]


def rows_of(flow: Flow) -> dict[str, Any]:
    return {"frames": flow.frames, "sums": flow.sums}


def analysis_of(flow: Flow) -> dict[str, Any]:
    """Each group's loss was asked for once and repaired once."""
    repaired = {"naks": flow.groups, "retransmissions": flow.groups, "retransmitted_bytes": 256 * flow.groups}
    return {"frames": flow.frames, "streams": STREAMS, **repaired}


def rows_and_analysis_of(flow: Flow) -> dict[str, Any]:
    return {**rows_of(flow), **analysis_of(flow)}


def index_of(flow: Flow) -> dict[str, Any]:
    return {"length": flow.length, "is_damaged": False}


def run(job: str, expected: Expected, on_spark: bool, enhanced: bool, size: Size, scratch: Path) -> str:
    """Make a capture, run a job over it in a process of its own, compare what it found, and bound what its processes took."""
    if on_spark:
        need_spark()
    flow = write_flow(scratch / ("flow.pcapng" if enhanced else "flow.pcap"), LENGTHS[size], SEED, enhanced=enhanced)
    options = {"splitSize": SPLITS[size]}
    config = {"spark.driver.memory": "1g", "spark.local.dir": str(scratch / "spark")}
    arguments = {"path": str(flow.path), "ports": flow.ports, "options": options, "config": config}
    started = time.monotonic()
    found, peaks = measured(job, arguments, scratch, LIMIT_S[size])
    taken_s = time.monotonic() - started
    flow.path.unlink()
    wanted = expected(flow)
    assert {name: found[name] for name in wanted} == wanted, f"seed {SEED}, {job}"
    bound = PEAK_MAX[size] if on_spark else CORE_PEAK_MAX[job]
    said = ", ".join(f"{name} {max(each) / MIB:.0f} MiB" for name, each in sorted(peaks.items()))
    for name, each in peaks.items():
        assert name == "java" or max(each) < bound, f"{job}: {said}, expected less than {bound / MIB:.0f}"
    if on_spark:
        assert peaks["worker"], f"{job}: no worker was measured"
        if size is Size.FULL and "parts" in found:
            assert found["parts"] >= flow.length >> 27, found
    workers = f" of {len(peaks['worker'])} workers" if on_spark else ""
    return f"{flow.length / MIB:.0f} MiB, {flow.packets:,} packets right in {taken_s:.0f} s; peaks{workers}: {said}"


def measured(job: str, arguments: dict[str, Any], scratch: Path, limit_s: float) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """Run a job; return what it found and the largest resident sets of its processes, in bytes, by role."""
    folder, said, problems = scratch / "peaks", scratch / "said", scratch / "problems"
    folder.mkdir()
    # Workers find the tests' modules by PYTHONPATH; among temporary files is the index.
    environment = {**os.environ, FOLDER: str(folder), "PYTHONPATH": str(ROOT), "TMPDIR": str(scratch)}
    peaks: dict[int, tuple[str, int]] = {}
    command = [sys.executable, "-m", "tests.support.captures.jobs", job, json.dumps(arguments)]
    with said.open("wb") as out, problems.open("wb") as err:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=err)
        deadline = time.monotonic() + limit_s
        try:
            while process.poll() is None:
                assert time.monotonic() < deadline, f"{job}: no end after {limit_s:.0f} s"
                for pid in (process.pid, *descendants(process.pid)):
                    role = peaks[pid][0] if pid in peaks and pid != process.pid else role_of(pid, process.pid)
                    if (peak := peak_resident_of(pid)) and role:
                        peaks[pid] = role, peak
                time.sleep(SAMPLE_S)
        finally:
            process.kill()
            process.wait()
    assert process.returncode == 0, f"{job}: exit code {process.returncode}\n{problems.read_text(errors='replace')[-4000:]}"
    for report in folder.glob("*.peak"):
        seen = peaks.get(int(report.stem), ("worker", 0))[1]
        peaks[int(report.stem)] = "worker", max(seen, int(report.read_text()))
    by_role: dict[str, list[int]] = {}
    for role, peak in peaks.values():
        by_role.setdefault(role, []).append(peak)
    return dict(json.loads(said.read_text().splitlines()[-1])), by_role


def role_of(pid: int, own: int) -> str:
    """Return what a process is: the job itself, Java, one of Spark's planners or one of its workers (a daemon is one of those it forks)."""
    if pid == own:
        return "job"
    words = [*command_of(pid).split("\0"), "", "", ""]
    if words[0].endswith("java"):
        return "java"
    return {"tests.support.spark.measured_daemon": "worker", "pyspark.daemon": "planner"}.get(words[2], "")  # python -m DAEMON


def parts(size: Size) -> list[Part]:
    jobs: list[tuple[str, str, Expected, bool, bool]] = [
        ("core", "core", rows_of, False, False),
        ("core-pcapng", "core", rows_of, False, True),
        ("core-analysis", "analyse-core", analysis_of, False, False),
        ("index", "index", index_of, False, False),
    ]
    if size is Size.SMALL:  # one session for both jobs: its start takes longer than they do
        jobs += [("spark", "read-and-analyse", rows_and_analysis_of, True, False)]
    else:
        jobs += [
            ("spark-read", "read", rows_of, True, False),
            ("spark-read-pcapng", "read", rows_of, True, True),
            ("spark-analysis", "analyse", analysis_of, True, False),
        ]
    return [Part(name, SEED, partial(run, job, expected, on_spark, enhanced, size)) for name, job, expected, on_spark, enhanced in jobs]
