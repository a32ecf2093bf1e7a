"""The error logs that are saved as text when another one takes a directory over: a driver's beside it, an archive's in it.

Aeron: MediaDriver.saveErrorLog, ArchiveMarkFile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

SAVED_SUFFIX = "-error.log"
_OBSERVATION = re.compile(r"^(\d+) observations from (.+?) to (.+?) for:$", re.MULTILINE)
_END = re.compile(r"^\d+ distinct errors observed\.$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SavedError:
    """One distinct error of a saved log; the times are as they were written."""

    count: int
    first: str
    last: str
    text: str


def saved_logs(folder: Path, name: str) -> list[Path]:
    """Return the logs in a folder that were saved under a name, the oldest first."""
    found = folder.glob(f"{_literal(name)}-*{SAVED_SUFFIX}")
    return sorted(found, key=lambda path: path.name)


def saved_errors(text: str) -> list[SavedError]:
    """Return the errors of a saved log's text, in order."""
    end = _END.search(text)
    text = text if end is None else text[: end.start()]
    heads = list(_OBSERVATION.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return [
        SavedError(int(head[1]), head[2], head[3], text[head.end() : stop].strip("\n")) for head, stop in zip(heads, ends, strict=False)
    ]


def _literal(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)
