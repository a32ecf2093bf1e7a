"""`aerowire log`: a log buffer from inside: its metadata, the state of its three terms, its frames. Aeron: LogInspector."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.tools.arguments import add_directory_arguments, count_or_none

if TYPE_CHECKING:
    from aerowire.tools.driver.driver_files import DriverFiles

EXAMPLES = """\
Examples:
  aerowire log                                   list the logs of a driver
  aerowire log 7                                 the log of publication 7, or image 7
  aerowire log 7 --term active --limit 20 --hex 64
  aerowire log 7 --term 1 --from 0x8000 --text --hide-empty
  aerowire log --check images/9.logbuffer        walk over every frame; exit code 1 when something is damaged
  aerowire log 7 --json | jq '.terms[].entries[] | select(.kind == "damage")'

Flags of a frame are letters: B begin and E end of a message, S end of the stream, R revoked. What stands between frames is shown too: zeros
(not written yet, cleaned, or missing from an image), claims that a writer has not committed, and damage: bytes that are no frame. The file
is only read, and may belong to a live driver: then each line is of another moment.

Exit codes: 0 shown; 1 damaged, with --check, or interrupted; 2 usage, or no log there.
"""
_TERMS = ("0", "1", "2", "active", "all")
FRAMES_SHOWN = 50


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "log",
        help="look into a log buffer: terms and frames",
        description="Show the metadata, the terms and the frames of a log buffer; without LOG list those of a driver.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("log", metavar="LOG", nargs="?", help="file, or the registration id of a publication or an image of --dir")
    parser.add_argument("--term", choices=_TERMS, default="all", help="which term: by index, the one that is written, or all (default)")
    parser.add_argument("--from", dest="begin", metavar="OFFSET", type=_offset, default=0, help="first offset within the term (default: 0)")
    limit = f"entries shown of each term; 0 for none (default: {FRAMES_SHOWN})"
    parser.add_argument("--limit", metavar="N", type=count_or_none, default=FRAMES_SHOWN, help=limit)
    dump = parser.add_mutually_exclusive_group()
    dump_help = "of each payload; with N no more than N bytes of it"
    dump.add_argument("--hex", metavar="N", nargs="?", type=count_or_none, const=-1, help=f"hexadecimal dump {dump_help}")
    dump.add_argument("--text", metavar="N", nargs="?", type=count_or_none, const=-1, help=f"text {dump_help}")
    parser.add_argument("--hide-empty", action="store_true", help="leave out frames without payload, padding and zeros")
    parser.add_argument("--check", action="store_true", help="walk over all frames and show only what is wrong")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_directory_arguments(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show a log; returns 0, or 1 when --check finds damage."""
    from aerowire.tools.driver.driver_files import driver_files
    from aerowire.tools.driver.watching import print_report
    from aerowire.tools.exit_codes import DONE, FINDING
    from aerowire.tools.log.log_reader import LogReader
    from aerowire.tools.log.log_report import LogList, LogReport

    with driver_files(arguments) as files:
        if arguments.log is None:
            print_report(LogList.of(files.directory), as_json=arguments.json)
            return DONE
        path = _find(arguments.log, files)
    with LogReader(path) as reader:
        report = LogReport.of(reader, arguments)
        print_report(report, as_json=arguments.json)
        return FINDING if arguments.check and report.is_damaged else DONE


def _find(name: str, files: DriverFiles) -> Path:
    from aerowire.base.errors import ConfigurationError
    from aerowire.tools.driver.log_files import log_path, log_paths

    if not name.isdecimal() or Path(name).exists():
        if Path(name).is_dir():
            raise ConfigurationError(
                "a log is a file",
                where=name,
                expected="a file, or a registration id",
                actual="a directory",
                hint=f"`aerowire log --dir {name}` lists the logs of a driver's directory",
            )
        return Path(name)
    path = log_path(files.directory, int(name))
    if path is None:
        there = ", ".join(sorted({path.stem for path in log_paths(files.directory)}, key=lambda stem: (len(stem), stem)))
        raise ConfigurationError(
            "there is no such log",
            where=files.directory,
            expected=f"a registration id among {there}" if there else "a driver's directory with logs in it",
            actual=name,
            hint="registration ids are those of `aerowire streams`",
        )
    return path


def _offset(text: str) -> int:
    from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT

    try:
        value = int(text, 0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected an offset, such as 4096 or 0x1000, got {text!r}") from None
    if value < 0 or value % FRAME_ALIGNMENT:
        raise argparse.ArgumentTypeError(f"expected a multiple of {FRAME_ALIGNMENT} from 0, where frames begin, got {text}")
    return value
