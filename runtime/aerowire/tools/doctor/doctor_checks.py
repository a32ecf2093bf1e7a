"""Judges a machine: is it one on which a driver runs well? Pure: facts in, findings with advice out."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from aerowire.base.text import printable
from aerowire.codecs.tables.options import OPTIONS
from aerowire.tools.doctor.machine_facts import Machine
from aerowire.tools.doctor.stale_drivers import DriverDirectory
from aerowire.tools.terminal.figures import size_text


class Level(enum.IntEnum):
    """How bad a finding is. Only a warning and a problem are findings for the exit code."""

    GOOD = 0
    NOTE = 1
    WARNING = 2
    PROBLEM = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what was found, and what to do about it."""

    what: str
    level: Level
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Hiccups:
    """What a sampler counted, in nanoseconds: of a thread that spins, or of one that sleeps."""

    count: int
    p50_ns: int
    p99_ns: int
    longest_ns: int
    stood_still_share: float


# A term buffer of the default length is mapped three times over for a log; room for a few of them at once.
_STREAMS_AT_ONCE = 4
_LOGS_PER_STREAM = 2  # the publisher's and the subscriber's side
_TERMS_PER_LOG = 3
# A receiver window of the default holds 128 KiB; a fast network needs more, and this is what Aeron's own advice asks for.
_GOOD_SOCKET_BUFFER = 2 * 1024 * 1024
_AGENTS_DEDICATED = 3
_GOOD_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "xen")
_SLOW_CLOCK_NS = 200
_OPEN_FILES_MIN = 1024
_HICCUP_WARNING_NS = 10_000_000
_LATE_SLEEP_WARNING_NS = 5_000_000
_STOOD_STILL_WARNING = 0.05


def check_shared_memory(machine: Machine) -> Finding:
    """Is there shared memory, is it memory, and is there room for some streams?"""
    memory, what = machine.shared_memory, "shared memory"
    if not memory.is_there:
        return Finding(what, Level.PROBLEM, f"{memory.path} is not there", "mount a tmpfs there, or put drivers elsewhere with -Daeron.dir")
    room = f"{size_text(memory.free)} free of {size_text(memory.total)}"
    room += "" if memory.path == "/dev/shm" else f" at {printable(memory.path)}"
    if memory.kind is not None and memory.kind != "tmpfs":
        return Finding(what, Level.WARNING, f"{memory.path} is {memory.kind}, {room}", "a driver's files belong in memory: mount a tmpfs")
    term_length = OPTIONS["term_buffer_length"].default
    assert isinstance(term_length, int)
    needed = _STREAMS_AT_ONCE * _LOGS_PER_STREAM * _TERMS_PER_LOG * term_length
    if memory.free < needed // _STREAMS_AT_ONCE:
        level = Level.PROBLEM
    elif memory.free < needed:
        level = Level.WARNING
    else:
        return Finding(what, Level.GOOD, room)
    advice = (
        f"{_STREAMS_AT_ONCE} streams with both ends here take {size_text(needed)}: {_room(memory.path, memory.kind)},"
        " remove stale directories, or use shorter terms (-Daeron.term.buffer.length)"
    )
    return Finding(what, level, room, advice)


def _room(path: str, kind: str | None) -> str:
    """How to make room where drivers are."""
    if path == "/dev/shm":
        return f"mount -o remount,size=1G {path} (a container: --shm-size=1g)"
    return "give its tmpfs a larger size" if kind == "tmpfs" else "free some space there"


def check_socket_buffers(machine: Machine) -> list[Finding]:
    """Do sockets get the buffers that a driver asks for, and what a fast network needs?"""
    sockets = machine.sockets
    return [
        _check_buffer("socket receive buffer", "rmem_max", sockets.rmem_max, sockets.granted_rcvbuf, "socket_so_rcvbuf"),
        _check_buffer("socket send buffer", "wmem_max", sockets.wmem_max, sockets.granted_sndbuf, "socket_so_sndbuf"),
    ]


def _check_buffer(what: str, setting: str, limit: int | None, granted: int, option: str) -> Finding:
    asked = OPTIONS[option].default
    assert isinstance(asked, int)
    # The kernel doubles what is set, for its own book-keeping, and shows the double.
    usable = limit if limit is not None else granted // 2
    found = f"at most {size_text(usable)}" + ("" if limit is not None else ", as a socket was given")
    if usable < asked:
        return Finding(
            what, Level.PROBLEM, found, f"a driver asks for {size_text(asked)}: sysctl -w net.core.{setting}={_GOOD_SOCKET_BUFFER}"
        )
    if usable < _GOOD_SOCKET_BUFFER:
        advice = f"enough for the default windows; for high rates sysctl -w net.core.{setting}={_GOOD_SOCKET_BUFFER} and larger windows"
        return Finding(what, Level.NOTE, found, advice)
    return Finding(what, Level.GOOD, found)


def check_processors(machine: Machine) -> list[Finding]:
    """Are there processors for the driver's agents, at a steady clock rate?"""
    processors = machine.processors
    usable = len(processors.usable)
    found = f"{usable} of {processors.count} may be used" + (f", isolated: {processors.isolated}" if processors.isolated else "")
    if usable <= _AGENTS_DEDICATED:
        advice = (
            "too few for agents that spin in DEDICATED mode beside clients: use --threading shared or shared_network, and --idle backoff"
        )
        level = Level.WARNING if usable == 1 else Level.NOTE
        findings = [Finding("processors", level, found, advice)]
    else:
        findings = [Finding("processors", Level.GOOD, found)]
    slow = [governor for governor in processors.governors if governor != "performance"]
    if slow:
        advice = "clock rates that follow the load add to latency: cpupower frequency-set -g performance"
        findings.append(Finding("frequency governor", Level.WARNING, ", ".join(slow), advice))
    return findings


def check_group(machine: Machine) -> list[Finding]:
    """Do the limits of a control group leave room?"""
    group, findings = machine.group, []
    version = "no control groups" if group.version is None else f"cgroup v{group.version}"
    if group.cpu_limit is None:
        findings.append(Finding("processor limit", Level.GOOD, f"none ({version})"))
    else:
        found = f"{group.cpu_limit:g} processors ({version}), throttled in {group.throttled_periods} periods"
        tight = group.cpu_limit < _AGENTS_DEDICATED + 1 or group.throttled_periods > 0
        advice = "a group that has used its share stands still for tens of milliseconds: raise it, or use idle strategies that sleep"
        findings.append(Finding("processor limit", Level.WARNING if tight else Level.NOTE, found, advice))
    if group.memory_limit is None:
        findings.append(Finding("memory limit", Level.GOOD, f"none ({version})"))
    else:
        left = group.memory_limit - (group.memory_used or 0)
        found = f"{size_text(group.memory_limit)}, {size_text(max(left, 0))} left ({version})"
        advice = "files in shared memory count as this group's memory once they are written: count the terms of all streams"
        level = Level.WARNING if left < machine.shared_memory.total // 2 and left < 1 << 30 else Level.NOTE
        findings.append(Finding("memory limit", level, found, advice))
    return findings


def check_clock(machine: Machine, reading_ns: float) -> Finding:
    """Is the clock one that can be read without a system call?"""
    found = f"{machine.clock_source or 'not told'}, {reading_ns:.0f} ns a reading"
    if reading_ns > _SLOW_CLOCK_NS or (machine.clock_source is not None and machine.clock_source not in _GOOD_CLOCKS):
        advice = "agents read the clock in each cycle: choose a faster source (clocksource=tsc on the kernel's command line)"
        return Finding("clock", Level.WARNING if reading_ns > _SLOW_CLOCK_NS else Level.NOTE, found, advice)
    return Finding("clock", Level.GOOD, found)


def check_pages(machine: Machine) -> Finding:
    """Do transparent huge pages get in the way?"""
    pages = machine.pages
    found = f"transparent: {pages.transparent or 'not told'}, for shared memory: {pages.transparent_shared or 'not told'}"
    found += f"; {pages.reserved_count} reserved" if pages.reserved_count else ""
    if pages.transparent == "always":
        advice = (
            "putting huge pages together can stop a thread for milliseconds: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
        )
        return Finding("huge pages", Level.NOTE, found, advice)
    return Finding("huge pages", Level.GOOD, found)


def check_open_files(machine: Machine) -> Finding:
    """May a process open enough files?"""
    found = f"{machine.open_files_max:,} in a process"
    if 0 <= machine.open_files_max < _OPEN_FILES_MIN:
        return Finding("open files", Level.WARNING, found, f"sockets and files of many streams need more: ulimit -n {4 * _OPEN_FILES_MIN}")
    return Finding("open files", Level.GOOD, found if machine.open_files_max >= 0 else "no limit")


def check_directories(directories: list[DriverDirectory]) -> list[Finding]:
    """Are there directories of drivers that are gone?"""
    findings = []
    for item in (item for item in directories if item.is_stale):
        advice = f"its driver has ended: aerowire driver --dir {item.path} takes it over, rm -r {item.path} removes it"
        found = f"{item.path}: pid {item.pid}, {item.state}, takes {size_text(item.length)}"
        findings.append(Finding("stale directory", Level.WARNING, found, advice))
    living = sum(not item.is_stale for item in directories)
    if not findings:
        findings.append(Finding("driver directories", Level.GOOD, f"{living}, none of them stale"))
    return findings


def check_hiccups(spinning: Hiccups, sleeping: Hiccups) -> list[Finding]:
    """How does the scheduler treat a thread that spins, and one that sleeps?"""
    spun = f"longest standstill {_time(spinning.longest_ns)}, {spinning.stood_still_share:.1%} of the time"
    late = f"{_time(sleeping.p50_ns)} (half of them), {_time(sleeping.p99_ns)} (1 in 100), {_time(sleeping.longest_ns)} at most"
    slept = f"sleeps are late by {late}"
    stands = spinning.longest_ns > _HICCUP_WARNING_NS or spinning.stood_still_share > _STOOD_STILL_WARNING
    advice_spin = (
        "other work wants the same processors: stop it, give agents processors of their own (-Daeron.sender.cpu.affinity ...), isolate them"
    )
    advice_sleep = "agents that sleep wake late: look for other work, virtual machines that share the host, power saving states"
    return [
        Finding("spinning thread", Level.WARNING if stands else Level.GOOD, spun, advice_spin if stands else ""),
        Finding(
            "sleeping thread",
            *((Level.WARNING, slept, advice_sleep) if sleeping.p99_ns > _LATE_SLEEP_WARNING_NS else (Level.GOOD, slept)),
        ),
    ]


_CHECKS: tuple[Callable[[Machine], Finding | list[Finding]], ...] = (
    check_shared_memory,
    check_socket_buffers,
    check_processors,
    check_group,
    check_pages,
    check_open_files,
)


def check_machine(machine: Machine) -> list[Finding]:
    """Return what all checks of a machine's facts find."""
    findings: list[Finding] = []
    for check in _CHECKS:
        found = check(machine)
        findings += found if isinstance(found, list) else [found]
    return findings


def _time(nanoseconds: int) -> str:
    if nanoseconds >= 1_000_000:
        return f"{nanoseconds / 1e6:.1f} ms"
    return f"{nanoseconds / 1e3:.0f} us"
