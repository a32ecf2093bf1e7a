"""What is known of a whole capture before it is read again: places to begin at, which flows count as Aeron, the terms of the streams.

With an index the parts of a file can be read on their own, and say what the whole file would say.  It stands beside the capture, as
`FILE.index.json` (`aerowire pcap index` writes it), else in a folder of the machine's temporary files, where the first reader of a file
that needs one puts it for the others.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from aerowire.pcap.errors import CaptureError
from aerowire.pcap.files.places import Extent, Place
from aerowire.pcap.files.source import CHUNK_LENGTH
from aerowire.pcap.packets.fragments import SPAN
from aerowire.pcap.reading.facts import Facts, Findings
from aerowire.pcap.reading.passes import Pass
from aerowire.pcap.reading.resolved import Request, opened
from aerowire.pcap.reading.slices import SharedIndexBuilder

VERSION = 2
SUFFIX = ".index.json"
CUT_SPACING_MIN = 1 << 20
CUTS_MAX = 10_000
ENDS_LENGTH = 4096  # of a file, that tell it from others
KEPT_S = 7 * 86400  # how long an index stays among temporary files


@dataclass(frozen=True, slots=True)
class Index:
    """What a pass over a file found. Invariant: cuts are in the order of the file; there are none of a compressed one."""

    fingerprint: str
    length: int
    cuts: tuple[Place, ...]
    findings: Findings
    is_damaged: bool

    @property
    def facts(self) -> Facts:
        """What counts of the findings by the flow rule."""
        return self.findings.facts()

    def extents(self, split_length: int) -> list[Extent]:
        """Return the parts of the file, each about as long as asked for."""
        if not self.cuts:
            return []
        bounds = [self.cuts[0], *(self._at(goal) for goal in range(split_length, self.length, split_length))]
        places = sorted(set(filter(None, bounds)), key=lambda place: place.position)
        ends = [place.position for place in places[1:]] + [self.length]
        return [Extent(place, end, self._before(place)) for place, end in zip(places, ends, strict=True)]

    def extent(self, start: int, end: int) -> Extent | None:
        """Return what begins at the first cut from `start` and ends before the first one from `end`; None where that is nothing."""
        first, last = self._at(start), self._at(end)
        stop = self.length if last is None else last.position
        return None if first is None or first.position >= stop else Extent(first, stop, self._before(first))

    def _at(self, position: int) -> Place | None:
        at = bisect_left(self.cuts, position, key=lambda cut: cut.position)
        return self.cuts[at] if at < len(self.cuts) else None

    def _before(self, place: Place) -> Place | None:
        at = bisect_right(self.cuts, place.position - SPAN, key=lambda cut: cut.position)
        if place == self.cuts[0]:
            return None
        return self.cuts[max(at - 1, 0)]

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "version": VERSION,
            "fingerprint": self.fingerprint,
            "length": self.length,
            "is_damaged": self.is_damaged,
            "cuts": [[cut.position, cut.packet_index, list(cut.blocks)] for cut in self.cuts],
            **self.findings.to_json(),
        }

    @classmethod
    def from_json(cls, values: Any) -> Index:
        """Return what `to_json` gave.  Raises ValueError for anything else."""
        try:
            if values["version"] != VERSION:
                raise ValueError(f"expected version {VERSION}, found {values['version']}")
            cuts = tuple(Place(position, index, tuple(blocks)) for position, index, blocks in values["cuts"])
            return cls(values["fingerprint"], values["length"], cuts, Findings.from_json(values), values["is_damaged"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no index of a capture: {error!r}") from error


def build(path: str | os.PathLike[str], *, chunk_length: int = CHUNK_LENGTH) -> Index:
    """Return the index of a capture, by reading all of it once.  Raises CaptureError for what is no capture."""
    name = os.fspath(path)
    mark = fingerprint(name)
    length = Path(name).stat().st_size
    with opened(name, Request(chunk_length=chunk_length)) as part:
        reading = Pass(part, cut_spacing=_cut_spacing(length), asking=True)
        for _ in reading.selections():
            pass
    reading.account()
    cuts = () if part.file.is_compressed else tuple(reading.cuts)
    return Index(mark, length, cuts, reading.findings(), reading.statistics.is_damaged)


def _cut_spacing(length: int) -> int:
    return max(CUT_SPACING_MIN, length // CUTS_MAX)


def fingerprint(path: str | os.PathLike[str]) -> str:
    """Return what tells a file from others without reading it: its length, beginning and end.  Raises CaptureError."""
    try:
        with Path(path).open("rb") as file:
            length = os.fstat(file.fileno()).st_size
            digest = hashlib.sha256(str(length).encode() + file.read(ENDS_LENGTH))
            file.seek(max(0, length - ENDS_LENGTH))
            digest.update(file.read(ENDS_LENGTH))
    except OSError as error:
        raise CaptureError(f"{os.fspath(path)}: cannot be opened: {error.strerror or error}") from error
    return digest.hexdigest()


def beside(path: str | os.PathLike[str]) -> Path:
    """Return where the index of a capture stands beside it."""
    return Path(f"{os.fspath(path)}{SUFFIX}")


def find(path: str | os.PathLike[str]) -> Index | None:
    """Return the index beside a capture, or None where there is none that is of this very file."""
    return _read(beside(path), fingerprint(path))


def save(path: str | os.PathLike[str], index: Index) -> Path:
    """Write an index beside its capture and return where.  Raises CaptureError where that is not possible."""
    target = beside(path)
    try:
        _write(target, index)
    except OSError as error:
        raise CaptureError(f"{target}: cannot be written: {error.strerror or error}") from error
    return target


def find_or_build(path: str | os.PathLike[str]) -> Index:
    """Return the index of a capture: the one beside it, else the one that this machine keeps; made where there is none.

    Several processes that need the same one make it together (see `slices`).
    """
    mark = fingerprint(path)
    found = _read(beside(path), mark)
    if found is not None:
        return found
    folder = Path(tempfile.gettempdir()) / f"aerowire-captures-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        return build(path)  # somebody else's, who could tell us anything
    target = folder / f"{mark}{SUFFIX}"
    found = _read(target, mark)
    return _made_together(os.fspath(path), mark, target) if found is None else found


def _made_together(path: str, mark: str, target: Path) -> Index:
    """Return a file's index, of which all who wait for it make slices and one the whole; else one makes all of it."""
    length = Path(path).stat().st_size
    builder = SharedIndexBuilder(target.parent, mark, path, _cut_spacing(length))
    if builder.is_useful:
        builder.help(target)
    with _locked(target.parent / f"{mark}.lock"):
        found = _read(target, mark)
        if found is None:
            made = builder.result() if builder.is_useful else None
            found = build(path) if made is None else Index(mark, length, *made, is_damaged=False)
            _forget_old(target.parent)
            _write(target, found)
        builder.clear()  # also what was made between another process's writing and clearing
    return found


def _read(path: Path, mark: str) -> Index | None:
    try:
        index = Index.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None
    return index if index.fingerprint == mark else None


def _write(path: Path, index: Index) -> None:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}", delete=False) as file:
        json.dump(index.to_json(), file)
    Path(file.name).rename(path)


@contextmanager
def _locked(path: Path) -> Iterator[TextIO]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _forget_old(folder: Path) -> None:
    for path in folder.iterdir():
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > KEPT_S:
                path.unlink()
