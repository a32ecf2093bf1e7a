"""`aerowire doctor`: what it reads of a machine, how it judges it, and what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from aerowire.driver import MediaDriver
from aerowire.system.hiccups import HiccupSampler, clock_reading_ns
from aerowire.tools.doctor import doctor_checks
from aerowire.tools.doctor.doctor_checks import Hiccups, Level
from aerowire.tools.doctor.machine_facts import (
    ControlGroup,
    Machine,
    MemoryPages,
    Processors,
    SharedMemory,
    SocketLimits,
    read_group,
    read_machine,
)
from aerowire.tools.doctor.stale_drivers import DriverDirectory, find_directories
from aerowire.tools.main import main

MIB = 1 << 20
GOOD = Machine(
    shared_memory=SharedMemory(path="/dev/shm", is_there=True, kind="tmpfs", total=8192 * MIB, free=8000 * MIB),
    sockets=SocketLimits(
        rmem_default=212_992, rmem_max=4 * MIB, wmem_default=212_992, wmem_max=4 * MIB, granted_rcvbuf=8 * MIB, granted_sndbuf=8 * MIB
    ),
    processors=Processors(count=16, usable=tuple(range(16)), isolated="", governors=("performance",)),
    group=ControlGroup(version=2, cpu_limit=None, throttled_periods=0, memory_limit=None, memory_used=None),
    pages=MemoryPages(transparent="madvise", transparent_shared="never", reserved_count=0),
    clock_source="tsc",
    open_files_max=65_536,
)


def worst(findings: list[doctor_checks.Finding], what: str) -> doctor_checks.Finding:
    return max((finding for finding in findings if finding.what == what), key=lambda finding: finding.level)


def test_finds_nothing_to_do_on_a_good_machine() -> None:
    assert {finding.level for finding in doctor_checks.check_machine(GOOD)} == {Level.GOOD}


@pytest.mark.parametrize(
    ("what", "machine", "level", "advice"),
    [
        ("shared memory", replace(GOOD, shared_memory=SharedMemory(path="/dev/shm", is_there=False)), Level.PROBLEM, "mount a tmpfs"),
        ("shared memory", replace(GOOD, shared_memory=replace(GOOD.shared_memory, free=64 * MIB)), Level.PROBLEM, "--shm-size"),
        ("shared memory", replace(GOOD, shared_memory=replace(GOOD.shared_memory, free=300 * MIB)), Level.WARNING, "--shm-size"),
        ("shared memory", replace(GOOD, shared_memory=replace(GOOD.shared_memory, kind="ext4")), Level.WARNING, "tmpfs"),
        (
            "socket receive buffer",
            replace(GOOD, sockets=replace(GOOD.sockets, rmem_max=65_536)),
            Level.PROBLEM,
            "net.core.rmem_max=2097152",
        ),
        ("socket receive buffer", replace(GOOD, sockets=replace(GOOD.sockets, rmem_max=212_992)), Level.NOTE, "net.core.rmem_max"),
        (
            "socket receive buffer",
            replace(GOOD, sockets=replace(GOOD.sockets, rmem_max=None, granted_rcvbuf=65_536)),
            Level.PROBLEM,
            "rmem_max",
        ),
        ("processors", replace(GOOD, processors=replace(GOOD.processors, usable=(3,))), Level.WARNING, "--threading shared"),
        ("processors", replace(GOOD, processors=replace(GOOD.processors, usable=(3, 4))), Level.NOTE, "--threading shared"),
        ("frequency governor", replace(GOOD, processors=replace(GOOD.processors, governors=("powersave",))), Level.WARNING, "performance"),
        ("processor limit", replace(GOOD, group=replace(GOOD.group, cpu_limit=1.5)), Level.WARNING, "raise it"),
        ("processor limit", replace(GOOD, group=replace(GOOD.group, cpu_limit=8.0, throttled_periods=3)), Level.WARNING, "raise it"),
        ("processor limit", replace(GOOD, group=replace(GOOD.group, cpu_limit=8.0)), Level.NOTE, "raise it"),
        ("memory limit", replace(GOOD, group=replace(GOOD.group, memory_limit=512 * MIB, memory_used=500 * MIB)), Level.WARNING, "terms"),
        ("memory limit", replace(GOOD, group=replace(GOOD.group, memory_limit=8192 * MIB, memory_used=MIB)), Level.NOTE, "terms"),
        ("huge pages", replace(GOOD, pages=replace(GOOD.pages, transparent="always")), Level.NOTE, "madvise"),
        ("open files", replace(GOOD, open_files_max=256), Level.WARNING, "ulimit -n"),
    ],
)
def test_says_what_is_wrong_and_what_to_do(what: str, machine: Machine, level: Level, advice: str) -> None:
    finding = worst(doctor_checks.check_machine(machine), what)
    assert finding.level is level
    assert advice in finding.advice


@pytest.mark.parametrize(
    ("source", "reading_ns", "level"), [("tsc", 25, Level.GOOD), ("hpet", 60, Level.NOTE), ("acpi_pm", 900, Level.WARNING)]
)
def test_judges_the_clock_by_its_source_and_by_what_a_reading_takes(source: str, reading_ns: float, level: Level) -> None:
    assert doctor_checks.check_clock(replace(GOOD, clock_source=source), reading_ns).level is level


def test_judges_hiccups() -> None:
    calm = Hiccups(10, 2_000, 50_000, 100_000, 0.001)
    assert {finding.level for finding in doctor_checks.check_hiccups(calm, calm)} == {Level.GOOD}
    levels = [
        finding.level for finding in doctor_checks.check_hiccups(replace(calm, longest_ns=20_000_000), replace(calm, p99_ns=9_000_000))
    ]
    assert levels == [Level.WARNING, Level.WARNING]
    assert doctor_checks.check_hiccups(replace(calm, stood_still_share=0.2), calm)[0].level is Level.WARNING


# ---- what is read


def write(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def tree(root: Path, files: dict[str, str]) -> Path:
    return write(root, **{name.replace("/", "__"): text for name, text in files.items()})


def test_reads_the_tightest_limit_of_nested_groups_of_version_2(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/outer/inner\n",
            "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
            "sys/fs/cgroup/outer/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/outer/cpu.stat": "nr_periods 10\nnr_throttled 4\n",
            "sys/fs/cgroup/outer/memory.max": "1000000\n",
            "sys/fs/cgroup/outer/memory.current": "400000\n",
            "sys/fs/cgroup/outer/inner/cpu.max": "max 100000\n",
            "sys/fs/cgroup/outer/inner/memory.max": "2000000\n",
            "sys/fs/cgroup/outer/inner/memory.current": "1\n",
        },
    )
    assert read_group(root) == ControlGroup(version=2, cpu_limit=1.5, throttled_periods=4, memory_limit=1_000_000, memory_used=400_000)


def test_reads_groups_of_version_1_as_a_container_sees_them(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    assert read_group(root) == ControlGroup(version=1, cpu_limit=0.5, throttled_periods=0, memory_limit=None, memory_used=None)


def test_reads_what_a_bare_machine_does_not_tell(tmp_path: Path) -> None:
    machine = read_machine(tmp_path)
    assert not machine.shared_memory.is_there
    assert machine.sockets.rmem_max is None
    assert machine.sockets.granted_rcvbuf > 0
    assert machine.group.version is None
    assert machine.clock_source is None
    assert machine.pages.transparent is None
    assert doctor_checks.check_machine(machine)


def test_reads_choices_and_counts(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
            "sys/kernel/mm/transparent_hugepage/shmem_enabled": "always within_size advise [never] deny force\n",
            "proc/meminfo": "MemTotal: 1 kB\nHugePages_Total:      12\n",
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
            "sys/devices/system/cpu/isolated": "2-3\n",
            "proc/sys/net/core/rmem_max": "212992\n",
        },
    )
    machine = read_machine(root)
    assert machine.pages == MemoryPages(transparent="always", transparent_shared="never", reserved_count=12)
    assert machine.processors.governors == ("powersave",)
    assert machine.processors.isolated == "2-3"
    assert machine.sockets.rmem_max == 212_992


def test_tells_a_dead_drivers_directory_from_a_living_ones(tmp_path: Path) -> None:
    script = (
        "import os, sys, time\nfrom aerowire.driver import MediaDriver\n"
        "driver = MediaDriver.launch(aeron_dir=sys.argv[1], threading_mode='SHARED')\nos.kill(os.getpid(), 9)\n"
    )
    dead, living = tmp_path / "dead", tmp_path / "living"
    subprocess.run([sys.executable, "-c", script, str(dead)], check=False)
    with MediaDriver.launch(aeron_dir=str(living), threading_mode="SHARED"):
        (tmp_path / "other").mkdir()
        (tmp_path / "broken").mkdir()
        (tmp_path / "broken" / "cnc.dat").write_bytes(b"not a driver's")
        found = {Path(item.path).name: item for item in find_directories([tmp_path, tmp_path / "none"], 0)}
    assert set(found) == {"dead", "living", "broken"}
    assert found["dead"].is_stale
    assert found["dead"].length > 0
    assert not found["living"].is_stale
    assert found["living"].pid == os.getpid()
    assert found["broken"].state.startswith("unreadable")
    (finding,) = doctor_checks.check_directories(list(found.values()))
    assert finding.level is Level.WARNING
    assert f"rm -r {dead}" in finding.advice


def test_no_stale_directory_is_good() -> None:
    living = DriverDirectory("/dev/shm/aeron-me", 1, "alive", 5, 100, is_stale=False)
    assert [finding.level for finding in doctor_checks.check_directories([living])] == [Level.GOOD]


# ---- the sampler


@pytest.mark.parametrize("kind", ["spin", "sleep"])
def test_a_sampler_counts_what_it_sees(kind: str) -> None:
    sampler = HiccupSampler()
    run: Callable[..., None] = sampler.spin if kind == "spin" else sampler.sleep
    run(20_000_000, **({"threshold_ns": 1} if kind == "spin" else {"period_ns": 1_000_000}))
    assert sampler.count == sum(count for _, count in sampler.buckets()) > 0
    assert sampler.elapsed_ns >= 20_000_000
    assert 0 < sampler.percentile(50) <= sampler.percentile(99) <= sampler.longest_ns < sampler.buckets()[-1][0]
    assert sampler.longest_ns <= sampler.total_ns


def test_an_unused_sampler_is_empty() -> None:
    sampler = HiccupSampler()
    assert (sampler.count, sampler.buckets(), sampler.percentile(99)) == (0, [], 0)
    assert 0 < clock_reading_ns() < 1e6


# ---- the command


def test_shows_findings_to_people(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor", "--seconds", "0.1"])
    out = capsys.readouterr().out
    assert code in (0, 1)
    assert "shared memory" in out
    assert "standstills of a spinning thread" in out
    assert ("warning" in out or "problem" in out) == (code == 1)


def test_shows_findings_to_programs(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor", "--seconds", "0.1", "--json"])
    found = json.loads(capsys.readouterr().out)
    levels = {finding["level"] for finding in found["findings"]}
    assert (code == 1) == bool(levels & {"warning", "problem"})
    assert found["hiccups"]["spinning"]["duration_ns"] >= 50_000_000
    assert found["machine"]["processors"]["count"] == os.cpu_count()
    main(["doctor", "--seconds", "0", "--json"])
    assert json.loads(capsys.readouterr().out)["hiccups"] is None


def test_judges_the_file_system_of_the_driver_s_directory(tmp_path: Path) -> None:
    for name in ("dev/shm", "mnt/big drive", "proc/self"):
        (tmp_path / name).mkdir(parents=True)
    mounts = "overlay / overlay rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\nnone /mnt/big\\040drive ramfs rw 0 0\n"
    (tmp_path / "proc/self/mounts").write_text(mounts)
    kinds = {
        place: read_machine(tmp_path, tmp_path / place).shared_memory.kind
        for place in ("dev/shm/aeron-me", "mnt/big drive/aeron/of/me", "mnt/other", "dev/shm")
    }
    assert kinds == {"dev/shm/aeron-me": "tmpfs", "mnt/big drive/aeron/of/me": "ramfs", "mnt/other": "overlay", "dev/shm": "tmpfs"}
    assert read_machine(tmp_path).shared_memory.kind == "tmpfs"


def test_names_the_place_that_has_too_little_room() -> None:
    little = replace(GOOD, shared_memory=SharedMemory(path="/mnt/small/aeron", is_there=True, kind="tmpfs", total=96 * MIB, free=64 * MIB))
    finding = doctor_checks.check_shared_memory(little)
    assert (finding.level, finding.found) == (Level.PROBLEM, "64 MiB free of 96 MiB at /mnt/small/aeron")
    assert "give its tmpfs a larger size" in finding.advice
    assert "/dev/shm" not in finding.advice
