"""`aerowire doctor`: is this a machine on which a driver runs well, and what to do about it."""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.tools.arguments import add_directory_arguments, seconds

if TYPE_CHECKING:
    from rich.console import RenderableType

    from aerowire.system.hiccups import HiccupSampler
    from aerowire.tools.doctor.archive_state import ArchiveState
    from aerowire.tools.doctor.doctor_checks import Finding, Hiccups
    from aerowire.tools.doctor.machine_facts import Machine
    from aerowire.tools.doctor.stale_drivers import DriverDirectory

SECONDS = 5.0
# How long the sampler runs before a signal is looked for.
_SLICE_NS = 50_000_000
_STYLES = {"GOOD": ("ok", "green"), "NOTE": ("note", "cyan"), "WARNING": ("warning", "yellow"), "PROBLEM": ("problem", "bold red")}
_BAR_WIDTH = 40

EXAMPLES = """\
Examples:
  aerowire doctor
  aerowire doctor --seconds 60
  aerowire doctor --archive recordings
  aerowire doctor --seconds 0 --json | jq '.findings[] | select(.level != "good")'

Looks at shared memory, socket buffers, processors, control groups, the clock, huge pages, limits and left driver directories, and samples
for some seconds how long the scheduler lets a thread stand still. With --archive it looks at the directory of an archive too: mark file,
storage, catalog against files, recordings that stand still, durability by the options that -D and the environment give. Changes nothing.

Exit codes: 0 all is well, or worth a note at most; 1 there are warnings or problems, or interrupted; 2 usage.
"""


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "doctor",
        help="look whether this machine suits a driver, and say what to do",
        description="Look whether this machine suits a media driver, and say what to do about what does not.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_directory_arguments(parser)
    parser.add_argument(
        "--seconds", metavar="SECONDS", type=seconds, default=SECONDS, help=f"how long to sample hiccups, 0 for not (default: {SECONDS:g})"
    )
    parser.add_argument(
        "--archive",
        dest="archives",
        metavar="DIR",
        action="append",
        default=[],
        help="look at the archive in this directory, too; repeatable",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Look, and say; returns 1 when there is something to do."""
    from aerowire.base.directory import SHARED_MEMORY
    from aerowire.system.hiccups import clock_reading_ns
    from aerowire.tools.doctor.doctor_checks import check_clock, check_directories, check_hiccups, check_machine
    from aerowire.tools.doctor.machine_facts import read_machine
    from aerowire.tools.doctor.stale_drivers import find_directories
    from aerowire.tools.driver.driver_files import driver_files
    from aerowire.tools.driver.watching import print_report
    from aerowire.tools.exit_codes import DONE, FINDING

    if arguments.seconds and sys.stderr.isatty():
        print(f"sampling for {arguments.seconds:g} seconds ...", end="", file=sys.stderr, flush=True)
    archives = _Archives(arguments)
    samples = sample(arguments.seconds) if arguments.seconds else None
    if arguments.seconds and sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    with driver_files(arguments) as files:
        # Room is needed where the driver's directory is, or will be.
        machine = read_machine(place=None if files.directory.parent == SHARED_MEMORY else files.directory)
        places = {SHARED_MEMORY, Path(tempfile.gettempdir()), files.directory.parent}
        directories = find_directories(sorted(places), files.driver_timeout_ns)
    findings = [*check_machine(machine), check_clock(machine, clock_reading_ns()), *check_directories(directories)]
    findings += archives.findings()
    if samples is not None:
        findings += check_hiccups(hiccups_of(samples.spinning), hiccups_of(samples.sleeping))
    report = DoctorReport(machine, findings, directories, samples, archives.states)
    print_report(report, as_json=arguments.json)
    return FINDING if report.is_finding else DONE


class _Archives:
    """The archives that were named: looked at once when this is made, and again by `findings`."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        from aerowire.system.ports import Ports
        from aerowire.tools.doctor.archive_state import read_archive, recorded_streams

        self._arguments = arguments
        self._ports = Ports.system()
        self._directories = [Path(directory) for directory in arguments.archives]
        self.states: list[ArchiveState] = [read_archive(directory, self._ports) for directory in self._directories]
        self._before = [recorded_streams(directory, self._ports) for directory in self._directories]

    def findings(self) -> list[Finding]:
        """Return what there is to say of them."""
        if not self._directories:
            return []
        from aerowire.base.options import resolve_options
        from aerowire.tools.arguments import properties_of
        from aerowire.tools.doctor.archive_checks import check_archive
        from aerowire.tools.doctor.archive_state import recorded_streams, standing_still

        options = resolve_options({"archive"}, {}, properties_of(self._arguments))
        findings = []
        for directory, state, before in zip(self._directories, self.states, self._before, strict=True):
            findings += check_archive(
                state,
                standing_still(before, recorded_streams(directory, self._ports)) if self._arguments.seconds else None,
                threshold=int(options["low_storage_space_threshold"] or 0),
                sync_level=int(options["file_sync_level"] or 0),
                has_checksums=bool(options["record_checksum"]),
            )
        return findings


@dataclass(frozen=True, slots=True)
class Samples:
    """What was sampled of a thread that spins, and of one that sleeps."""

    spinning: HiccupSampler
    sleeping: HiccupSampler


def sample(duration_s: float) -> Samples:
    """Sample for half of the time each; ends early when a signal comes."""
    from aerowire.system.hiccups import HiccupSampler

    spinning, sleeping = HiccupSampler(), HiccupSampler()
    half_ns = max(int(duration_s * 1e9) // 2, 1)
    for work in (spinning.spin, sleeping.sleep):
        left = half_ns
        while left > 0:
            work(min(left, _SLICE_NS))
            left -= _SLICE_NS
    return Samples(spinning, sleeping)


def hiccups_of(sampler: HiccupSampler) -> Hiccups:
    """Return what a sampler has counted."""
    from aerowire.tools.doctor.doctor_checks import Hiccups

    share = sampler.total_ns / max(sampler.elapsed_ns, 1)
    return Hiccups(sampler.count, sampler.percentile(50), sampler.percentile(99), sampler.longest_ns, share)


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What was found."""

    machine: Machine
    findings: list[Finding]
    directories: list[DriverDirectory]
    samples: Samples | None
    archives: list[ArchiveState]

    @property
    def is_finding(self) -> bool:
        """Whether there is something to do."""
        from aerowire.tools.doctor.doctor_checks import Level

        return any(finding.level >= Level.WARNING for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return it for programs."""
        from dataclasses import asdict

        hiccups = None
        if self.samples is not None:
            hiccups = {
                name: {
                    "duration_ns": sampler.elapsed_ns,
                    "count": sampler.count,
                    "p50_ns": sampler.percentile(50),
                    "p99_ns": sampler.percentile(99),
                    "longest_ns": sampler.longest_ns,
                    "buckets": [{"below_ns": bound, "count": count} for bound, count in sampler.buckets()],
                }
                for name, sampler in (
                    ("spinning", self.samples.spinning),
                    ("sleeping", self.samples.sleeping),
                )
            }
        return {
            "findings": [{**asdict(finding), "level": finding.level.name.lower()} for finding in self.findings],
            "machine": asdict(self.machine),
            "directories": [asdict(item) for item in self.directories],
            "archives": [asdict(item) for item in self.archives],
            "hiccups": hiccups,
        }

    def render(self) -> RenderableType:
        """Return it for people."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        from aerowire.tools.terminal.figures import printable_text

        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        for finding in self.findings:
            word, style = _STYLES[finding.level.name]
            found = Text(printable_text(finding.found))
            if finding.advice:
                found.append(f"\n-> {printable_text(finding.advice)}", style="dim" if finding.level.name == "NOTE" else style)
            table.add_row(Text(word, style=style), Text(finding.what, style="bold"), found)
        parts: list[RenderableType] = [table]
        if self.samples is not None:
            parts += [_histogram("standstills of a spinning thread", self.samples.spinning)]
            parts += [_histogram("lateness of sleeps of 1 ms", self.samples.sleeping)]
        return Group(*parts)


def _histogram(title: str, sampler: HiccupSampler) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    lines = [Text(f"\n{title}: {sampler.count:,}", style="bold")]
    buckets = sampler.buckets()
    most = max((count for _, count in buckets), default=0)
    for bound, count in buckets:
        bar = "#" * max(1, round(_BAR_WIDTH * count / most))
        lines.append(Text(f"  below {bound / 1000:>10,.0f} us  {count:>9,}  {bar}"))
    return Group(*lines)
