"""The page that shows which scenarios ran between which implementations, written by the run itself."""

from __future__ import annotations

import platform
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from aerowire.base.version import VERSION
from tests.interop.scenarios import Row


@dataclass(frozen=True)
class Outcome:
    """A scenario's row and whether it passed."""

    test: str
    passed: bool
    row: Row


def render(outcomes: Iterable[Outcome], *, jar: str, java: str) -> str:
    """Return the page as Markdown: one table for all scenarios, sorted by feature."""
    by_feature: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_feature[outcome.row.feature].append(outcome)
    count = sum(map(len, by_feature.values()))
    failed = sum(not outcome.passed for group in by_feature.values() for outcome in group)
    lines = [
        "# Interoperability with official Aeron",
        "",
        "Written by `make interop`. A scenario is one feature, in one direction, between two implementations: messages of random length",
        "through at least one term wrap, a hash of their content compared at every subscriber, counters that prove that the feature acted,",
        "and no file left when both sides have closed. With an archive the hash is that of a replay or of a reader, or the results of all",
        "operations are compared; in the end no counter and no file of it is left, and the tools of both sides verify its directory.",
        "With a cluster, what its service has answered is compared with what it was sent.",
        "",
        f"aerowire {VERSION} with official Aeron {jar} on Java {java}; Python {platform.python_version()}, {platform.system()}"
        f" {platform.machine()}. **{count} scenarios, {failed} failed.**",
        "",
        "| Feature | Publishing | Subscribing | Messages | Terms | Proved by | |",
        "|---|---|---|--:|--:|---|---|",
    ]
    for feature in sorted(by_feature, key=str.casefold):
        for outcome in sorted(by_feature[feature], key=lambda item: item.test):
            row = outcome.row
            proofs = "; ".join(dict.fromkeys(row.proofs)) or "content hash"
            subscribing = "; ".join(dict.fromkeys(row.subscribing))
            verdict = "passed" if outcome.passed else "**failed**"
            cells = (feature, row.publishing, subscribing, f"{row.messages:,}", f"{row.terms:,}", proofs, verdict)
            lines.append(f"| {' | '.join(str(cell).replace('|', '&#124;') for cell in cells)} |")
    return "\n".join([*lines, ""])


def java_version(executable: str) -> str:
    """Return the version that a virtual machine says it is."""
    done = subprocess.run([executable, "-version"], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    return done.stderr.split('"')[1]
