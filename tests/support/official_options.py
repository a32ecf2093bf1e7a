"""What official contexts make of their properties: the rows of a file that `tests/data/options/README.md` describes."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).resolve().parents[1] / "data" / "options" / "official-contexts.tsv"
UNSET = "null"
# What depends on the machine, or has no name.
UNTOLD = ("(of the user)", "a lambda")


class OfficialOption(NamedTuple):
    """A property that a component reads, the getter that follows it, and its value when no property is set."""

    component: str
    property: str
    getter: str
    default: str


def official_options() -> list[OfficialOption]:
    """Return the rows of the file."""
    with DATA.open(newline="", encoding="utf-8") as file:
        return [OfficialOption(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
