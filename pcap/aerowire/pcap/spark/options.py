"""The options of the data source `aeron_pcap`, checked; their names are of any case, as Spark's are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from aerowire.pcap.capture import parse_ports
from aerowire.pcap.errors import CaptureError
from aerowire.pcap.files.urls import local_path
from aerowire.pcap.scanning import expand
from aerowire.pcap.table import PAYLOAD, SCHEMA

SPLIT_LENGTH_MIN = 1 << 20  # the surroundings of a cut that are looked at are half of this
CONTENTS = ("frames", "statistics", "partials")
OPTIONS = {
    "path",
    "paths",
    "pathglobfilter",
    "ports",
    "columns",
    "payload",
    "mode",
    "splitsize",
    "content",
    "packetindex",
    "maxfilespertrigger",
    "maxbytespertrigger",
}
# Damage is never a row: both of the first two leave it out and count it.
MODES = ("permissive", "dropmalformed", "failfast")


@dataclass(frozen=True)
class Settings:
    """The options of one read. Invariant: paths are of this machine; columns are some of SCHEMA's, in the order asked for."""

    paths: tuple[str, ...]
    path_filter: str
    ports: frozenset[int] | None
    columns: tuple[str, ...]
    payload: bool
    fail_fast: bool
    split_length: int | None  # None where nobody said
    statistics: bool
    partials: bool
    packet_index: bool
    files_per_trigger: int | None
    bytes_per_trigger: int | None

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Settings:
        """Check options; raise CaptureError for one that is unknown or has no meaning."""
        given = {name.lower(): value for name, value in options.items()}
        unknown = sorted(set(given) - OPTIONS)
        if unknown:
            raise CaptureError(f"unknown option {', '.join(unknown)}: expected some of {', '.join(sorted(OPTIONS))}")
        columns = _columns(given.get("columns", ""))
        content = _choice(given, "content", CONTENTS)
        packet_index = _choice(given, "packetIndex", ("false", "true")) == "true"
        if packet_index and content != "partials":
            raise CaptureError(f"option packetIndex: only content partials has it, found content {content}; name the column packet_index")
        return cls(
            paths=tuple(map(local_path, _paths(given))),
            path_filter=given.get("pathglobfilter", "*"),
            ports=parse_ports(given["ports"]) if given.get("ports") else None,
            columns=columns or tuple(SCHEMA.names),
            payload=_choice(given, "payload", ("false", "true")) == "true" or PAYLOAD in columns,
            fail_fast=_choice(given, "mode", MODES) == "failfast",
            split_length=max(SPLIT_LENGTH_MIN, _size("splitSize", given["splitsize"])) if "splitsize" in given else None,
            statistics=content == "statistics",
            partials=content == "partials",
            packet_index=packet_index,
            files_per_trigger=_size("maxFilesPerTrigger", given["maxfilespertrigger"]) if "maxfilespertrigger" in given else None,
            bytes_per_trigger=_size("maxBytesPerTrigger", given["maxbytespertrigger"]) if "maxbytespertrigger" in given else None,
        )

    def files(self) -> list[str]:
        """Return the files that there are.  Raises CaptureError for a path that stands for none."""
        return [path for path in expand(self.paths) if fnmatch(Path(path).name, self.path_filter)]


def _columns(text: str) -> tuple[str, ...]:
    names = tuple(name for name in text.replace(" ", "").split(",") if name)
    unknown = [name for name in names if name not in SCHEMA.names]
    if unknown:
        raise CaptureError(f"option columns: no column is called {', '.join(unknown)}; there are {', '.join(SCHEMA.names)}")
    return names


def _choice(options: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    given = options.get(name.lower(), choices[0])
    value = given.lower()
    if value not in choices:
        raise CaptureError(f"option {name}: expected one of {', '.join(choices)}, found {given!r}")
    return value


def _size(name: str, text: str) -> int:
    unit = {"k": 10, "m": 20, "g": 30}.get(text[-1:].lower(), 0)
    digits = text[:-1] if unit else text
    if not digits.isdecimal() or int(digits) == 0:
        raise CaptureError(f"option {name}: expected a whole number from 1, such as 64m, found {text!r}")
    return int(digits) << unit


def _paths(options: Mapping[str, str]) -> list[str]:
    if "paths" in options:
        return [str(path) for path in json.loads(options["paths"])]
    if not options.get("path"):
        raise CaptureError("no path given: use load(path)")
    return [options["path"]]
