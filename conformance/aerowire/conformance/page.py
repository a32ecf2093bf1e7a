"""The page that shows runs in a browser: a matrix of cases by driver, and what went over the wire in each, drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files

from aerowire.conformance.catalogue import TOPICS

TEMPLATE = "page.html"
PLACE = "/*DATA*/null"


def page(documents: Sequence[Mapping[str, object]]) -> str:
    """Return one page, self-contained, of the documents of some runs (`report.to_document`), a column each."""
    template = files("aerowire.conformance").joinpath(TEMPLATE).read_text(encoding="utf-8")
    data = json.dumps({"groups": TOPICS, "runs": documents}, separators=(",", ":"))
    # What a driver said must not end the script that holds it.
    return template.replace(PLACE, data.replace("<", "\\u003c"), 1)
