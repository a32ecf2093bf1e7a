"""`aerowire pcap replay`: publish what captures hold to a channel and stream."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from aerowire.pcap.commands.shared import DONE, FINDING, add_reading, complain, printable, spark_session, working

if TYPE_CHECKING:
    from aerowire.pcap.publishing import Publisher, Target
    from aerowire.pcap.replay.replaying import Counts, Recorded, RecordedStream

EXAMPLES = """\
  aerowire pcap replay traffic.pcap aeron:ipc 10
  aerowire pcap replay traffic.pcapng 'aeron:udp?endpoint=127.0.0.1:40123' 10 --speed max --wait 5 --json
  aerowire pcap replay monday.pcap tuesday.pcap aeron:ipc 10 --session -1322054591 --stream-id 1001 --speed 10x
"""
EXIT_CODES = """
Exit codes: 0 all was sent and, as far as the driver knows, received; 1 the capture is damaged or has messages that are not whole, or nobody
subscribed in time, the subscriber left or did not keep up, or interrupted: what was sent is told; 2 usage, several streams without a
choice, a file that cannot be read or is no capture, or no driver.
"""
INT32_MIN, INT32_MAX = -(1 << 31), (1 << 31) - 1


@dataclass
class Outcome:
    """How far a replay came."""

    sent: int | None = 0  # None where nobody can tell
    blocked_ns: int = 0
    elapsed_s: float = 0.0
    session_id: int | None = None
    problem: str | None = None
    interrupted: bool = False


@dataclass(frozen=True)
class Found:
    """What was replayed, and of what."""

    streams: list[RecordedStream]
    counts: Counts
    is_damaged: bool | None  # None where nobody looked
    outcome: Outcome


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "replay",
        help="publish the messages of a capture again",
        description="Publish the messages of a capture to a channel and stream, put together from their fragments, in the order and with\n"
        "the time between them that a subscriber had; with their reserved values. What is not whole is counted and left out.",
        epilog="Examples:\n" + EXAMPLES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="captures: files, patterns, folders")
    parser.add_argument("channel", metavar="CHANNEL", help="channel URI, such as aeron:ipc or aeron:udp?endpoint=127.0.0.1:40123")
    parser.add_argument("stream", metavar="STREAM", type=_int32, help="stream id to publish to, a number of 32 bits")
    parser.add_argument("--speed", metavar="FACTOR", type=_speed, default=1.0, help="1x, 0.5x, 10x ... or max (default: 1x)")
    parser.add_argument("--session", metavar="ID", type=_int32, help="replay this session of the capture")
    parser.add_argument("--stream-id", metavar="ID", type=_int32, help="replay this stream of the capture")
    parser.add_argument("--all", action="store_true", help="replay all streams that are chosen as one, if there are several")
    parser.add_argument("--wait", metavar="SECONDS", type=_seconds, help="how long to wait for a subscriber (default: for ever)")
    parser.add_argument(
        "--offer-timeout", metavar="SECONDS", type=_seconds, help="how long to wait for subscribers that do not keep up (default: for ever)"
    )
    parser.add_argument(
        "--linger",
        metavar="SECONDS",
        type=_seconds,
        default=0.0,
        help="keep the publication open this long after the last message (default: 0)",
    )
    parser.add_argument(
        "--dir", metavar="DIR", help="the driver's directory (default: aeron.dir, or AERON_DIR, or the user's in shared memory)"
    )
    parser.add_argument(
        "-D", dest="definitions", metavar="NAME=VALUE", action="append", default=[], help="set an option by its aeron.* property"
    )
    add_reading(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Publish and tell what was published."""
    from aerowire.pcap.errors import CaptureError
    from aerowire.pcap.publishing import Target, open_publisher
    from aerowire.pcap.replay.replaying import Recorded, find_streams
    from aerowire.pcap.scanning import expand

    try:
        target = Target(arguments.channel, arguments.stream, _properties(arguments), arguments.wait, arguments.offer_timeout)
        paths = list(expand(arguments.files))
        if arguments.spark is not None:
            if arguments.linger:
                raise CaptureError(
                    "--linger: not with --spark, whose task closes the publication when all was taken; leave one of them out"
                )
            found = _with_spark(arguments, paths, target)
        else:
            streams = _chosen(find_streams(paths, arguments.ports), arguments)
            recorded = Recorded(paths, streams, arguments.ports)
            with open_publisher(target, "aerowire pcap replay") as publisher:
                outcome = _replay(recorded, publisher, arguments.speed, arguments.linger)
            found = Found(streams, recorded.counts, recorded.scan.statistics.is_damaged, outcome)
    except CaptureError as error:
        return complain(error)
    _tell(arguments, target, found)
    is_whole = not found.counts.skipped and not found.is_damaged
    return DONE if is_whole and found.outcome.problem is None and not found.outcome.interrupted else FINDING


def _chosen(streams: list[RecordedStream], arguments: argparse.Namespace) -> list[RecordedStream]:
    from aerowire.pcap.replay.replaying import choose

    where = ", ".join(arguments.files)
    return choose(streams, session_id=arguments.session, stream_id=arguments.stream_id, every=arguments.all, where=where)


def _with_spark(arguments: argparse.Namespace, paths: list[str], target: Target) -> Found:
    """Let executors read and one of them publish.  A failed job tells only its reason, in which is how far it came."""
    from aerowire.pcap.replay.replaying import Counts

    with working("replaying"), spark_session(arguments.spark) as spark:
        from pyspark.errors import PySparkException

        from aerowire.pcap.spark import replaying

        frames = replaying.read_frames(spark, paths, arguments.ports)
        streams = _chosen(replaying.find_streams(frames, paths), arguments)
        began_s = time.monotonic()
        try:
            published, counts = replaying.replay(frames, paths, streams, target, arguments.speed)
        except PySparkException as error:
            reason = re.search(r"(?:PublishError|AerowireError|\w+Error): (.*)", str(error))
            outcome = Outcome(sent=None, elapsed_s=time.monotonic() - began_s, problem=reason[1] if reason else str(error))
            return Found(streams, Counts(), None, outcome)
        elapsed_s = time.monotonic() - began_s
    return Found(streams, counts, None, Outcome(published.messages, published.blocked_ns, elapsed_s, published.session_id))


def _replay(recorded: Recorded, publisher: Publisher, speed: float, linger_s: float) -> Outcome:
    """Send everything; what ends it early is in the outcome."""
    from aerowire.pcap.replay.pacing import due_batches

    outcome = Outcome(session_id=publisher.session_id)
    began_s = time.monotonic()
    try:
        publisher.await_subscriber()
        began_s = time.monotonic()
        with _shown_progress(recorded, publisher) as show:
            for batch in due_batches(recorded, speed, idle=publisher.check):
                values = [message.reserved_value for message in batch]
                publisher.publish([message.payload for message in batch], values if any(values) else None)
                show()
        publisher.drain()
        time.sleep(linger_s)
    except KeyboardInterrupt:
        outcome.interrupted = True
    except publisher.failures as error:
        outcome.problem = str(error)
    outcome.sent, outcome.blocked_ns, outcome.elapsed_s = publisher.sent, publisher.blocked_ns, time.monotonic() - began_s
    return outcome


def _tell(arguments: argparse.Namespace, target: Target, found: Found) -> None:
    counts, outcome = found.counts, found.outcome
    if arguments.json:
        streams = [stream.key._asdict() for stream in found.streams]
        told = {"channel": target.channel, "stream_id": target.stream_id, **asdict(outcome), "streams": streams, **counts.to_dict()}
        print(json.dumps(told | {"damaged": found.is_damaged}))
        return
    rate = f" in {outcome.elapsed_s:.3f} s" if outcome.sent else ""
    sent = "unknown how many" if outcome.sent is None else f"{outcome.sent:,}"
    print(
        f"{printable(target)}: {sent} messages sent{rate}, session {outcome.session_id}, waited {outcome.blocked_ns / 1e9:.3f} s for room"
    )
    if counts.skipped or counts.lost_bytes:
        print(
            f"aerowire pcap: left out: {counts.incomplete_messages:,} messages of which a part is missing, {counts.truncated_messages:,} "
            f"captured in part; {counts.lost_bytes:,} bytes of the streams are not in the capture",
            file=sys.stderr,
        )
    if found.is_damaged:
        print("aerowire pcap: the capture is damaged; `aerowire pcap summary` counts where", file=sys.stderr)
    if outcome.problem is not None:
        print(f"aerowire pcap: {printable(outcome.problem)}", file=sys.stderr)
    if outcome.interrupted:
        print("aerowire pcap: interrupted", file=sys.stderr)


@contextmanager
def _shown_progress(recorded: Recorded, publisher: Publisher) -> Iterator[Callable[[], None]]:
    """Draw a bar of the frames replayed and the messages sent on standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("replaying"), BarColumn(), TextColumn("{task.fields[sent]:,} messages"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=sum(stream.frames for stream in recorded.streams), sent=0)
        yield lambda: progress.update(task, completed=recorded.counts.frames, sent=publisher.sent)


def _properties(arguments: argparse.Namespace) -> dict[str, str]:
    """Return a client's properties: those of -D, and --dir, which is stronger."""
    from aerowire.codecs.tables.options import OPTIONS
    from aerowire.pcap.errors import CaptureError

    properties = {}
    for definition in arguments.definitions:
        name, separator, value = definition.partition("=")
        if not separator or not name:
            raise CaptureError(f"-D: expected NAME=VALUE, found {definition!r}")
        properties[name] = value
    return properties | ({OPTIONS["dir"].property: arguments.dir} if arguments.dir is not None else {})


def _int32(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = INT32_MAX + 1
    if not INT32_MIN <= value <= INT32_MAX:
        raise argparse.ArgumentTypeError(f"expected a number from {INT32_MIN} to {INT32_MAX}, found {text}")
    return value


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number of seconds from 0, found {text}")
    return value


def _speed(text: str) -> float:
    from aerowire.pcap.replay.pacing import parse_speed

    try:
        return parse_speed(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
