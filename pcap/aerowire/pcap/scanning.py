"""Many captures as one stream of Arrow batches, in bounded memory: what is left of a file when it was read is what was counted."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.pcap.capture import Capture
from aerowire.pcap.errors import CaptureError
from aerowire.pcap.files.source import is_capture, is_compressed
from aerowire.pcap.statistics import Statistics

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]
    import polars as pl

PathLike = str | os.PathLike[str]


class Scan:
    """The frames of some captures, file after file, as Arrow batches; each iteration reads the files anew.

    `schema` is that of every batch.  `statistics` has the counts of the files that the last iteration has read to their end.
    """

    def __init__(self, paths: Sequence[str], make: Callable[[str], Capture]) -> None:
        self.paths = tuple(paths)
        self._make = make
        self.schema: pa.Schema = make("").schema
        self.statistics = Statistics()
        self._read = 0  # bytes of the files before
        self._current: Capture | None = None

    @property
    def length(self) -> int | None:
        """Bytes of all files; None where one is compressed, of which nobody knows how much it holds."""
        return None if any(is_compressed(path) for path in self.paths) else sum(Path(path).stat().st_size for path in self.paths)

    @property
    def position(self) -> int:
        """Bytes that were read so far, decompressed."""
        return self._read + (self._current.position if self._current else 0)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        self.statistics, self._read = Statistics(), 0
        for path in self.paths:
            capture = self._current = self._make(path)
            yield from capture.batches()
            self.statistics.add([capture.statistics])
            self._read += capture.position
            self._current = None

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the batches as what other libraries read Arrow from."""
        return pa.RecordBatchReader.from_batches(self.schema, iter(self))

    def to_table(self) -> pa.Table:
        """Return all frames as one table."""
        return pa.Table.from_batches(list(self), self.schema)

    def to_pandas(self) -> pd.DataFrame:
        """Return all frames as a pandas data frame, with Arrow's types, so that integers with nulls stay integers."""
        import pandas as pd

        return self.to_table().to_pandas(types_mapper=pd.ArrowDtype)

    def to_polars(self) -> pl.DataFrame:
        """Return all frames as a Polars data frame."""
        import polars as pl

        return pl.DataFrame(self.to_table())


def scan(
    paths: PathLike | Iterable[PathLike],
    *,
    columns: Iterable[str] | None = None,
    where: Sequence[Any] | None = None,
    payload: bool = False,
    ports: Iterable[int] | None = None,
    fail_fast: bool = False,
) -> Scan:
    """Return the Aeron frames of captures, one row a frame, to be read in batches of bounded size.

    paths: files, globs and directories (of which all captures below them count).  columns: only these.  where: only frames that satisfy
    conditions, such as `[("type", "==", "NAK")]` (see `aerowire.pcap.where`); columns are built only of what satisfies them.  payload: fill
    that column.  ports: take datagrams from or to these; without it, flows that are proven to be Aeron (see `evidence`), which is known
    after a first pass over each file, as positions and marks of retransmissions are.  fail_fast: raise for a damaged file instead of
    counting.
    Raises CaptureError for what is not there or no capture, ValueError for columns and conditions that have no meaning.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    chosen = None if columns is None else list(columns)
    numbers = None if ports is None else frozenset(ports)

    def make(path: str) -> Capture:
        return Capture(path, ports=numbers, columns=chosen, payload=payload, where=where, fail_fast=fail_fast)

    return Scan(list(expand(os.fspath(path) for path in given)), make)


def expand(paths: Iterable[str]) -> Iterator[str]:
    """Yield the files that paths, globs and directories stand for, in order.

    Of a directory, all captures below it, but hidden ones and other kinds of files (a README, say) not.
    """
    for path in paths:
        if not path:
            raise CaptureError("the name of a capture is empty; '.' is the current folder")
        found = [path] if Path(path).exists() else sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - of absolute patterns too
        if not found:
            raise CaptureError(f"{path}: no such file, directory or match")
        for name in found:
            if Path(name).is_dir():
                yield from (
                    str(file) for file in sorted(Path(name).rglob("*")) if _is_visible(file.relative_to(name)) and _is_capture(file)
                )
            else:
                yield name


def _is_capture(path: Path) -> bool:
    return path.is_file() and is_capture(path)  # BEFORE it is opened: a pipe in a folder would be waited for


def _is_visible(path: Path) -> bool:
    return not any(part.startswith((".", "_")) for part in path.parts)
