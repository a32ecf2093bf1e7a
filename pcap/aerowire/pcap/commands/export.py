"""`aerowire pcap export`: the frames of captures as a file of another format."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from aerowire.pcap.commands.shared import (
    DONE,
    EXIT_CODES,
    FINDING,
    add_reading,
    complain,
    printable,
    report_stream,
    spark_or_none,
    written_file,
)

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import SparkSession

    from aerowire.pcap.scanning import Scan
    from aerowire.pcap.spark.frames import SparkScan

EXAMPLES = """\
  aerowire pcap export traffic.pcap frames.parquet
  aerowire pcap export captures/ naks.csv --where 'type == NAK' --columns ts_ns,session_id,position,length
  aerowire pcap export traffic.pcapng - --format json --where 'term_offset >= 4096' --where 'type in DATA,PAD'
"""
FORMATS = {".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow", ".csv": "csv", ".json": "json", ".jsonl": "json"}


class Writer(Protocol):
    """Where batches go."""

    def write_batch(self, batch: pa.RecordBatch) -> object: ...


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "export",
        help="frames as Parquet, Arrow, CSV or JSON",
        description="Write the frames of captures, one row a frame, as a file of another format; memory does not grow with the captures.",
        epilog="Examples:\n" + EXAMPLES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("inputs", metavar="FILE", nargs="+", help="captures: files, patterns, folders")
    parser.add_argument("output", metavar="OUTPUT", help="file to write, not one of the captures; - for standard output")
    parser.add_argument("--format", choices=sorted(set(FORMATS.values())), help="format (default: by the ending of OUTPUT)")
    parser.add_argument("--columns", metavar="NAME,...", type=_names, help="only these columns, with commas between")
    parser.add_argument(
        "--where",
        metavar="CONDITION",
        action="append",
        default=[],
        help="only frames that satisfy 'COLUMN OPERATION VALUE'; operations ==, !=, <, <=, >, >=, in, not in, is null, is not null; "
        "repeated, all must hold",
    )
    parser.add_argument("--payload", action="store_true", help="with the bytes of DATA frames")
    add_reading(parser)
    parser.set_defaults(run=run)


def _names(text: str) -> list[str]:
    return [name for name in text.replace(" ", "").split(",") if name]


def run(arguments: argparse.Namespace) -> int:
    """Write the frames and say how many."""
    from aerowire.pcap.errors import CaptureError
    from aerowire.pcap.scanning import expand, scan
    from aerowire.pcap.table import SCHEMA
    from aerowire.pcap.where import parse_texts

    try:
        kind = arguments.format or FORMATS.get(Path(arguments.output).suffix)
        if kind is None:
            raise ValueError(f"{arguments.output}: no format has this ending; give --format, or one of {', '.join(FORMATS)}")
        chosen = {
            "columns": arguments.columns,
            "where": parse_texts(arguments.where, SCHEMA),
            "payload": arguments.payload,
            "ports": arguments.ports,
        }
        paths = list(expand(arguments.inputs))
        with spark_or_none(arguments, paths) as spark:
            found = scan(paths, **chosen) if spark is None else _scan_with_spark(spark, paths, chosen)
            with written_file(arguments.output, paths) as file:
                rows = _write(found, kind, file)
    except (CaptureError, ValueError) as error:
        return complain(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        return complain(CaptureError(f"{arguments.output}: cannot be written: {error.strerror or error}"))
    _tell(arguments, rows, found)
    return FINDING if found.statistics.is_damaged else DONE


def _scan_with_spark(spark: SparkSession, paths: Sequence[str], chosen: dict[str, Any]) -> SparkScan:
    from aerowire.pcap.spark.frames import SparkScan

    return SparkScan(spark, paths, **chosen)


def _tell(arguments: argparse.Namespace, rows: int, found: Scan | SparkScan) -> None:
    if arguments.json:
        print(json.dumps({"output": arguments.output, "rows": rows, **found.statistics.to_dict()}), file=report_stream(arguments.output))
        return
    print(f"{printable(arguments.output)}: {rows:,} frames of {found.statistics.packets:,} packets", file=report_stream(arguments.output))
    if found.statistics.is_damaged:
        print(
            f"aerowire pcap: damaged: corrupt in {found.statistics.corrupt_records} places, "
            f"{found.statistics.truncated_bytes} bytes of incomplete records",
            file=sys.stderr,
        )


def _write(found: Scan | SparkScan, kind: str, file: BinaryIO) -> int:
    rows = 0
    with _shown_progress(found) as batches, WRITERS[kind](file, found.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


@contextmanager
def _shown_progress(found: Scan | SparkScan) -> Iterator[Iterable[pa.RecordBatch]]:
    """Draw a bar of the bytes read on standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        yield found
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("exporting", total=found.length)

        def watched() -> Iterator[pa.RecordBatch]:
            for batch in found:
                progress.update(task, completed=found.position)
                yield batch

        yield watched()


@contextmanager
def _parquet(file: BinaryIO, schema: pa.Schema) -> Iterator[Writer]:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    with pq.ParquetWriter(file, schema) as writer:
        yield writer


@contextmanager
def _arrow(file: BinaryIO, schema: pa.Schema) -> Iterator[Writer]:
    import pyarrow as pa

    with pa.ipc.new_file(file, schema) as writer:
        yield writer


class _Rows:
    """Batches as lines of text."""

    def __init__(self, file: BinaryIO, line: Callable[[dict[str, Any]], str]) -> None:
        self._file = file
        self._line = line

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self._file.write("".join(self._line(row) for row in batch.to_pylist()).encode())


@contextmanager
def _csv(file: BinaryIO, schema: pa.Schema) -> Iterator[Writer]:
    """Comma-separated, as pandas and Spark read it: bytes are hexadecimal, lists JSON, nulls empty.

    Each row is one line: characters of text that are not printable become escapes.
    """
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")

    def line(row: dict[str, Any]) -> str:
        text.seek(0)
        text.truncate()
        writer.writerow(map(_cell, row.values()))
        return text.getvalue()

    file.write((",".join(schema.names) + "\n").encode())
    yield _Rows(file, line)


@contextmanager
def _json(file: BinaryIO, schema: pa.Schema) -> Iterator[Writer]:
    """A JSON object a line, without nulls; bytes are hexadecimal."""
    assert schema is not None
    yield _Rows(file, lambda row: json.dumps({name: value for name, value in row.items() if value is not None}, default=_plain) + "\n")


def _cell(value: object) -> object:
    if isinstance(value, str):
        return printable(value)
    return json.dumps(value, default=_plain) if isinstance(value, list) else _plain(value)


def _plain(value: object) -> object:
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else value


WRITERS = {"parquet": _parquet, "arrow": _arrow, "csv": _csv, "json": _json}
