"""What the subcommands of `aerowire pcap` have in common: exit codes, arguments, and what tells people that work is going on."""

from __future__ import annotations

import argparse
import logging
import re
import secrets
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DONE, FINDING, UNUSABLE = 0, 1, 2
STANDARD_OUTPUT = "-"
EXIT_CODES = """
Exit codes: 0 done; 1 the capture is damaged (cut short or corrupt): what could be read is shown, the damage is counted; or interrupted;
2 usage, or a file that cannot be read or is no capture.
"""
# One job and then the end: half of a default session's processor time goes into compiling and collecting for longer lives.
SHORT_SESSION = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of all that read frames: who does the work, which datagrams count, and the output for programs."""
    parser.add_argument(
        "--spark",
        metavar="MASTER",
        help="let Spark's executors do the work, such as local[4] or spark://host:7077; they must see the files under the same paths",
    )
    parser.add_argument(
        "--ports",
        metavar="N,...",
        type=parse_ports,
        help="take UDP datagrams from or to these ports, with commas between (default: Aeron flows are detected)",
    )
    add_json(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the argument for programs."""
    parser.add_argument("--json", action="store_true", help="JSON, for programs")


@contextmanager
def reading(arguments: argparse.Namespace, paths: Sequence[str]) -> Iterator[SparkSession | None]:
    """Say that captures are read for as long as they are, with the session that the arguments ask for; None where they ask for none.

    Raises CaptureError as `spark_or_none` does.
    """
    with working(f"reading {paths[0]}" if len(paths) == 1 else f"reading {len(paths)} captures"), spark_or_none(arguments, paths) as spark:
        yield spark


@contextmanager
def spark_or_none(arguments: argparse.Namespace, paths: Sequence[str]) -> Iterator[SparkSession | None]:
    """Open the session that the arguments ask for, once it is clear that there are captures to read; None where they ask for none."""
    from aerowire.pcap.errors import CaptureError
    from aerowire.pcap.files.source import check_readable

    if arguments.spark is None:
        yield None
        return
    if "-" in paths:
        raise CaptureError("--spark reads files, and standard input is none: write it to a file first")
    for path in paths:
        check_readable(path)
        if arguments.spark.partition("[")[0] != "local" and not Path(path).is_absolute():
            raise CaptureError(f"--spark {arguments.spark}: executors run in other folders: name {path} as {Path(path).absolute()}")
    with spark_session(arguments.spark) as spark:
        yield spark


@contextmanager
def spark_session(master: str) -> Iterator[SparkSession]:
    """Open a Spark session for one command and stop it; an interruption ends what it started.

    Raises CaptureError where pyspark or Java is missing, no cluster answers to `master`, or a job fails.
    """
    from aerowire.pcap.errors import CaptureError
    from aerowire.pcap.spark.children import children_ended_on_interruption

    try:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        from aerowire.pcap.spark import session
    except ImportError as error:
        raise CaptureError(f"--spark needs the package pyspark ({error}): pip install 'aerowire[spark]'") from error
    # The bridge to Java tells of an interruption with its whole stack, on the root logger.
    logging.getLogger().addHandler(logging.NullHandler())
    on_interrupt = signal.getsignal(signal.SIGINT)
    with children_ended_on_interruption():
        try:
            spark = session(master=master, config=SHORT_SESSION)
        except (PySparkException, Py4JError) as error:
            raise CaptureError(f"--spark {master}: no session: {reason_of(error)}") from error
        signal.signal(signal.SIGINT, on_interrupt)  # Spark's own would first ask Java to cancel its jobs
        try:
            yield spark
        except (PySparkException, Py4JError) as error:
            spark.stop()
            raise CaptureError(f"--spark {master}: {reason_of(error)}") from error
        spark.stop()


def reason_of(error: Exception) -> str:
    """Return what failed in an executor, out of the stacks of Python and Java that a failed job tells it with."""
    text = str(error)
    found = re.search(r"CaptureError: (.+)", text) or re.search(r"^(?:: )?(?:\w+\.)*(\w+(?:Error|Exception): .+)", text, re.MULTILINE)
    return found[1] if found else text.strip().partition("\n")[0]


def printable(text: object) -> str:
    """Return text of a capture or a file name on one line, with escapes for what could steer a terminal or forge a line."""
    plain = str(text)
    return plain if plain.isprintable() else "".join(one if one.isprintable() else ascii(one)[1:-1] for one in plain)


def report_stream(output: str) -> TextIO:
    """Return where a command says what it has written to `output`: standard error where that is standard output."""
    return sys.stderr if output == STANDARD_OUTPUT else sys.stdout


def complain(error: Exception) -> int:
    """Say what was wrong and return the exit code for it."""
    print(f"aerowire pcap: {printable(error)}", file=sys.stderr)
    return UNUSABLE


def parse_count(text: str) -> int:
    """Return a number from 0 to what an index can be."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if not 0 <= value <= sys.maxsize:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to {sys.maxsize}, found {text}")
    return value


def parse_ports(text: str) -> frozenset[int]:
    """Return the ports of a list with commas between."""
    from aerowire.pcap import capture
    from aerowire.pcap.errors import CaptureError

    try:
        return capture.parse_ports(text)
    except CaptureError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


@contextmanager
def written_file(path: str, inputs: Sequence[str]) -> Iterator[BinaryIO]:
    """Open what a command writes of captures: a file, or standard output for "-".

    A file appears under its name when it is whole; a pipe, a device or a link stays what it is.
    Raises CaptureError where the file is one of the captures, which would be lost, and OSError.
    """
    from aerowire.pcap.errors import CaptureError

    if path == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        return
    target = Path(path)
    if target.exists() and any(target.samefile(capture) for capture in inputs):
        raise CaptureError(f"{path}: cannot be written: it is one of the captures that are read; give another file")
    if target.is_symlink() or (target.exists() and not target.is_file()):
        with target.open("wb") as file:
            yield file
        return
    partial = Path(f"{path}.{secrets.token_hex(4)}.partial")
    with partial.open("xb") as file:
        try:
            yield file
            file.close()
            partial.rename(target)
        except BaseException:
            with suppress(OSError):
                partial.unlink()
            raise


@contextmanager
def working(text: str) -> Iterator[None]:
    """Turn a spinner on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield
