"""What this machine says of itself: its shared memory, sockets, processors, limits and clock, as numbers and words.

Reads files under a root, so that a test can show another machine; judges nothing. What a machine does not tell is None.
"""

from __future__ import annotations

import os
import re
import resource
from dataclasses import dataclass
from pathlib import Path

CGROUP_ROOT = "sys/fs/cgroup"
# In cgroup v1 "no limit" is the largest multiple of a page that fits 63 bits.
_NO_LIMIT_MIN = 1 << 60


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMemory:
    """The file system that a driver's directory stands in, by default /dev/shm."""

    path: str
    is_there: bool
    kind: str | None = None
    total: int = 0
    free: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketLimits:
    """Bytes of a UDP socket's buffers: by default, at most by the system's setting, and as a socket was really given."""

    rmem_default: int | None
    rmem_max: int | None
    wmem_default: int | None
    wmem_max: int | None
    granted_rcvbuf: int
    granted_sndbuf: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Processors:
    """How many there are, which this process may use, which the scheduler leaves alone, and how their clock rate is chosen."""

    count: int
    usable: tuple[int, ...]
    isolated: str
    governors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlGroup:
    """The tightest limits of the groups that this process is in."""

    version: int | None
    cpu_limit: float | None
    throttled_periods: int
    memory_limit: int | None
    memory_used: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPages:
    """Transparent huge pages, for programs' memory and for shared memory, and reserved huge pages."""

    transparent: str | None
    transparent_shared: str | None
    reserved_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """All of it."""

    shared_memory: SharedMemory
    sockets: SocketLimits
    processors: Processors
    group: ControlGroup
    pages: MemoryPages
    clock_source: str | None
    open_files_max: int


def read_machine(root: Path = Path("/"), place: Path | None = None) -> Machine:
    """Look at the machine whose /proc, /sys and /dev are under `root`, and at the file system of `place` (default: its /dev/shm)."""
    return Machine(
        shared_memory=_shared_memory(root, root / "dev/shm" if place is None else place),
        sockets=_sockets(root),
        processors=_processors(root),
        group=read_group(root),
        pages=_pages(root),
        clock_source=_text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        open_files_max=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    )


def read_group(root: Path) -> ControlGroup:
    """Return the limits of this process's control groups, those around them included."""
    lines = (_text(root / "proc/self/cgroup") or "").splitlines()
    paths = {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines if line.count(":") >= 2)}
    base = root / CGROUP_ROOT
    if (base / "cgroup.controllers").exists():
        return _group_v2(base, paths.get("", "/"))
    named = {name: path for controllers, path in paths.items() for name in controllers.split(",")}
    if (base / "memory").is_dir() or (base / "cpu").is_dir():
        return _group_v1(base, named)
    return ControlGroup(version=None, cpu_limit=None, throttled_periods=0, memory_limit=None, memory_used=None)


def _group_v2(base: Path, path: str) -> ControlGroup:
    cpu: list[float] = []
    memory: list[tuple[int, int | None]] = []
    throttled = 0
    for folder in _outward(base, path):
        quota, _, period = (_text(folder / "cpu.max") or "max").partition(" ")
        if quota != "max" and period:
            cpu.append(int(quota) / int(period))
        limit = _text(folder / "memory.max") or "max"
        if limit != "max":
            memory.append((int(limit), _number(folder / "memory.current")))
        throttled = max(throttled, _field(folder / "cpu.stat", "nr_throttled"))
    limit_of, used = min(memory, key=lambda pair: pair[0], default=(None, None))
    return ControlGroup(version=2, cpu_limit=min(cpu, default=None), throttled_periods=throttled, memory_limit=limit_of, memory_used=used)


def _group_v1(base: Path, paths: dict[str, str]) -> ControlGroup:
    cpu: list[float] = []
    memory: list[tuple[int, int | None]] = []
    throttled = 0
    for folder in _outward(base / "cpu", paths.get("cpu", "/")):
        quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
        if quota is not None and quota > 0 and period:
            cpu.append(quota / period)
        throttled = max(throttled, _field(folder / "cpu.stat", "nr_throttled"))
    for folder in _outward(base / "memory", paths.get("memory", "/")):
        limit = _number(folder / "memory.limit_in_bytes")
        if limit is not None and limit < _NO_LIMIT_MIN:
            memory.append((limit, _number(folder / "memory.usage_in_bytes")))
    limit_of, used = min(memory, key=lambda pair: pair[0], default=(None, None))
    return ControlGroup(version=1, cpu_limit=min(cpu, default=None), throttled_periods=throttled, memory_limit=limit_of, memory_used=used)


def _outward(base: Path, path: str) -> list[Path]:
    """Return the folders from a group's own to the root's. In a container only the inner ones may be there, under the root's name."""
    parts = [part for part in path.split("/") if part not in ("", "..")]
    return [base.joinpath(*parts[:depth]) for depth in range(len(parts), -1, -1)]


def _shared_memory(root: Path, place: Path) -> SharedMemory:
    """The file system of a directory, or of the one above it that is there already."""
    default = root / "dev/shm"
    path = Path(os.path.realpath(place))
    while place != default and not path.exists() and path != path.parent:
        path = path.parent
    try:
        found = os.statvfs(path)
    except OSError:
        return SharedMemory(path=str(place), is_there=False)
    kind, mount = None, Path()
    for line in (_text(root / "proc/self/mounts") or "").splitlines():
        fields = line.split()
        # The innermost one counts, and of several at one place the last.
        if len(fields) > 2 and (inner := _within(root, fields[1], path)) is not None and len(inner.parts) >= len(mount.parts):
            kind, mount = fields[2], inner
    return SharedMemory(
        path=str(place), is_there=True, kind=kind, total=found.f_blocks * found.f_frsize, free=found.f_bavail * found.f_frsize
    )


def _within(root: Path, mount: str, path: Path) -> Path | None:
    """A mount point below `root`, if a path is below it; spaces and the like are written as octal numbers in the table of mounts."""
    named = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), mount)
    point = Path(os.path.realpath(root / named.lstrip("/")))
    return point if path.is_relative_to(point) else None


def _sockets(root: Path) -> SocketLimits:
    from aerowire.system.udp import probe_socket_buffers

    core = root / "proc/sys/net/core"
    granted = probe_socket_buffers()
    return SocketLimits(
        rmem_default=_number(core / "rmem_default"),
        rmem_max=_number(core / "rmem_max"),
        wmem_default=_number(core / "wmem_default"),
        wmem_max=_number(core / "wmem_max"),
        granted_rcvbuf=granted.receive_max,
        granted_sndbuf=granted.send_max,
    )


def _processors(root: Path) -> Processors:
    folder = root / "sys/devices/system/cpu"
    governors = {_text(path) for path in folder.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return Processors(
        count=os.cpu_count() or 1,
        usable=tuple(sorted(usable)),
        isolated=_text(folder / "isolated") or "",
        governors=tuple(sorted(filter(None, governors))),
    )


def _pages(root: Path) -> MemoryPages:
    folder = root / "sys/kernel/mm/transparent_hugepage"
    return MemoryPages(
        transparent=_chosen(folder / "enabled"),
        transparent_shared=_chosen(folder / "shmem_enabled"),
        reserved_count=_field(root / "proc/meminfo", "HugePages_Total:"),
    )


def _chosen(path: Path) -> str | None:
    """Return the word in brackets: how the kernel shows a choice."""
    words = (_text(path) or "").split()
    return next((word[1:-1] for word in words if word.startswith("[")), None)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


def _number(path: Path) -> int | None:
    text = _text(path)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _field(path: Path, name: str) -> int:
    for line in (_text(path) or "").splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == name and words[1].isdecimal():
            return int(words[1])
    return 0
