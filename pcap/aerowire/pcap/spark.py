"""Captures as a Spark data source: `spark.read.format("aeron_pcap").load(path)`, with the columns of `read_frames`.

    from aerowire.pcap.spark import session
    frames = session().read.format("aeron_pcap").option("ports", "40101").load("captures/*.pcap")

Options:
    ports      comma-separated; datagrams from or to these.  Without it the flows count that obey the frame rules throughout their file.
    payload    true: column `payload` holds the bytes of DATA frames; else it is null.
    mode       PERMISSIVE (default: damage is counted) or FAILFAST.
    splitSize  bytes of a part (default 128 MiB; k, m, g understood).
    resync     true: find the records at the cuts without walking the file; needs `ports`; packet_index is then null behind the first part.
    content    frames (default) or statistics: per part of a file, what was read and what was left out and why.

Where the work is done.  Plain classic captures longer than splitSize are cut into parts that the executors parse; every other file is one
part.  A flow counts as Aeron by all its datagrams, which no part knows alone: so a file of one part is scanned by its own task before it is
read, and a file that is cut is scanned once while the query is planned; the tasks get the links that count.  With `ports` planning only
walks along record headers, for exact cuts and packet indexes; with `resync` not even that, and tasks whose walk does not end where the
next part begins fail with an error instead of giving wrong rows.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from aerowire.pcap.capture import Capture, parse_ports
from aerowire.pcap.errors import CaptureError
from aerowire.pcap.java import ensure_java_home
from aerowire.pcap.passes import Extent, Facts
from aerowire.pcap.scanning import expand
from aerowire.pcap.source import is_splittable
from aerowire.pcap.splits import split_by_resync, split_exactly
from aerowire.pcap.table import PAYLOAD, SCHEMA

FORMAT = "aeron_pcap"
SPLIT_LENGTH = 128 << 20  # as Spark's own file sources
SPLIT_LENGTH_MIN = 1 << 20  # the surroundings of a cut that resynchronising looks at are half of this
CHUNK_LENGTH = 2 << 20  # larger batches cost more on their way to the JVM than they save here
OPTIONS = {"path", "paths", "ports", "payload", "mode", "splitsize", "resync", "content"}
STATISTICS_COLUMNS = {"path": "STRING", "name": "STRING", "count": "BIGINT"}
DDL_TYPES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
}
# Spark has no unsigned integers: the next wider one holds them.
UNSIGNED = {pa.uint8(): "SMALLINT", pa.uint16(): "INT", pa.uint32(): "BIGINT"}


def ddl(kind: pa.DataType) -> str:
    """Return Spark's name for an Arrow type."""
    if pa.types.is_list(kind):
        return f"ARRAY<{ddl(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(f'{member.name}: {ddl(member.type)}' for member in kind)}>"
    return DDL_TYPES.get(kind) or UNSIGNED[kind]


def schema_ddl(schema: pa.Schema) -> str:
    """Return a Spark schema for an Arrow one."""
    return ", ".join(f"{field.name} {ddl(field.type)}" for field in schema)


@dataclass(frozen=True)
class Settings:
    """The options of one read, checked."""

    files: tuple[str, ...]
    ports: frozenset[int] | None
    payload: bool
    fail_fast: bool
    split_length: int
    resync: bool
    statistics: bool

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Settings:
        """Check options; raise CaptureError for one that is unknown or has no meaning."""
        given = {name.lower(): value for name, value in options.items()}
        unknown = sorted(set(given) - OPTIONS)
        if unknown:
            raise CaptureError(f"unknown option {', '.join(unknown)}: expected some of {', '.join(sorted(OPTIONS))}")
        mode = _choice(given, "mode", ("permissive", "failfast"))
        settings = cls(
            files=tuple(expand(map(local_path, _paths(given)))),
            ports=parse_ports(given["ports"]) if given.get("ports") else None,
            payload=_choice(given, "payload", ("false", "true")) == "true",
            fail_fast=mode == "failfast",
            split_length=max(SPLIT_LENGTH_MIN, _size(given.get("splitsize", str(SPLIT_LENGTH)))),
            resync=_choice(given, "resync", ("false", "true")) == "true",
            statistics=_choice(given, "content", ("frames", "statistics")) == "statistics",
        )
        if settings.resync and settings.ports is None:
            raise CaptureError("option resync needs option ports: which flows are Aeron is known only after the whole file was read")
        return settings


def _choice(options: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    value = options.get(name, choices[0]).lower()
    if value not in choices:
        raise CaptureError(f"option {name}: expected one of {', '.join(choices)}, found {options[name]!r}")
    return value


def _size(text: str) -> int:
    unit = {"k": 10, "m": 20, "g": 30}.get(text[-1:].lower(), 0)
    digits = text[:-1] if unit else text
    if not digits.isdecimal() or int(digits) == 0:
        raise CaptureError(f"option splitSize: expected a number of bytes, such as 64m, found {text!r}")
    return int(digits) << unit


def _paths(options: Mapping[str, str]) -> list[str]:
    if "paths" in options:
        return [str(path) for path in json.loads(options["paths"])]
    if not options.get("path"):
        raise CaptureError("no path given: use load(path)")
    return [options["path"]]


def local_path(path: str) -> str:
    """Return the path of a URL of this machine's files."""
    parts = urlsplit(path)
    if parts.scheme not in ("", "file"):
        raise CaptureError(f"{path}: only local files are read, found scheme {parts.scheme!r}")
    return unquote(parts.path) if parts.scheme else path


@dataclass
class Part(InputPartition):
    """What one task reads: a file or an extent of it, and the links that count where that is known already."""

    path: str
    extent: Extent | None
    facts: Facts | None
    length: int


class CaptureSource(DataSource):
    """The data source `aeron_pcap`."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        settings = Settings.parse(self.options)
        if settings.statistics:
            return ", ".join(f"{name} {kind}" for name, kind in STATISTICS_COLUMNS.items())
        return schema_ddl(SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:
        return CaptureReader(self.options, schema)


class CaptureReader(DataSourceReader):
    """Plans the parts on the driver and reads them in the executors; a user's schema chooses columns."""

    def __init__(self, options: MutableMapping[str, str], schema: StructType) -> None:
        self._settings = Settings.parse(options)
        self._schema = schema
        # A schema of the user's own that names the payload asks for it.
        self._fills_payload = self._settings.payload or (PAYLOAD in schema.fieldNames() and len(schema) < len(SCHEMA))
        known = STATISTICS_COLUMNS if self._settings.statistics else SCHEMA.names
        unknown = [name for name in schema.fieldNames() if name not in known]
        if unknown:
            raise CaptureError(f"the schema names columns that captures do not have: {', '.join(unknown)}")

    def _capture(self, path: str) -> Capture:
        settings = self._settings
        columns = [] if settings.statistics else self._schema.fieldNames()
        if not self._fills_payload:
            columns = [name for name in columns if name != PAYLOAD]
        return Capture(path, ports=settings.ports, columns=columns, fail_fast=settings.fail_fast, chunk_length=CHUNK_LENGTH)

    def partitions(self) -> list[Part]:
        """Cut the files; one part at least for each."""
        return [part for path in self._settings.files for part in self._parts(path)]

    def _parts(self, path: str) -> list[Part]:
        settings = self._settings
        length = Path(path).stat().st_size
        if length <= settings.split_length or not is_splittable(path):
            return [Part(path, None, None, length)]
        if settings.resync:
            return [Part(path, extent, None, length) for extent in split_by_resync(path, settings.split_length)]
        capture = self._capture(path)
        facts = capture.survey() if settings.ports is None or capture.needs_terms else None
        return [Part(path, extent, facts, length) for extent in split_exactly(path, settings.split_length)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield a part's frames."""
        assert isinstance(partition, Part)
        capture = self._capture(partition.path)
        target = to_arrow_schema(self._schema, timezone="UTC")
        for batch in capture.batches(extent=partition.extent, facts=partition.facts):
            if not self._settings.statistics:
                yield pa.RecordBatch.from_arrays([_column(batch, field) for field in target], schema=target)
        damage = capture.statistics
        if self._settings.resync and partition.extent is not None and partition.extent.end < partition.length and damage.is_damaged:
            raise CaptureError(
                f"{partition.path}: the part from byte {partition.extent.start} does not end where the next one begins, at byte "
                f"{partition.extent.end}; read it without option resync"
            )
        if self._settings.statistics:
            counts = damage.to_dict()
            skipped = counts.pop("skipped")
            assert isinstance(skipped, dict)
            rows = [*counts.items(), *((f"skipped: {reason}", count) for reason, count in skipped.items())]
            columns: dict[str, Any] = {
                "path": [partition.path] * len(rows),
                "name": [name for name, _ in rows],
                "count": [count for _, count in rows],
            }
            yield pa.RecordBatch.from_arrays([pa.array(columns[field.name], type=field.type) for field in target], schema=target)


def _column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    if field.name not in batch.schema.names:
        return pa.nulls(batch.num_rows, field.type)
    return batch.column(field.name).cast(field.type)


def register(spark: SparkSession) -> None:
    """Make the format `aeron_pcap` known to a session."""
    spark.dataSource.register(CaptureSource)


def session(app_name: str = "aerowire", *, master: str = "local[*]", config: Mapping[str, str] | None = None) -> SparkSession:
    """Return a local session with `aeron_pcap` registered; sets JAVA_HOME and the workers' Python where the environment does not.

    Raises CaptureError where there is no Java that Spark can use.
    """
    ensure_java_home()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    defaults = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.host": "127.0.0.1",  # a container's own name often resolves to nothing
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
    }
    builder = SparkSession.builder.appName(app_name).master(master)
    for name, value in {**defaults, **(config or {})}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    register(spark)
    return spark
