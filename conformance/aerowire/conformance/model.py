"""What a case is, and what running one may end in.

Knows nothing of drivers, sockets or frames: a case is data beside a short function of a `Bench`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aerowire.codecs.tables.options import OPTIONS

if TYPE_CHECKING:
    from aerowire.conformance.harness.bench import Bench
    from aerowire.conformance.harness.trace import Exchange


class Verdict(enum.StrEnum):
    """Outcome of one case."""

    PASS = "pass"
    FAIL = "fail"
    UNSUPPORTED = "unsupported"
    INCONCLUSIVE = "inconclusive"


class Deviation(Exception):  # noqa: N818 - an outcome of a case; the subclasses are the words of a verdict
    """Root of everything that keeps a case from passing; carries what was expected and what was seen."""

    def __init__(self, expected: str, actual: str) -> None:
        self.expected = expected
        self.actual = actual
        super().__init__(f"expected {expected}; got {actual}")


class Finding(Deviation):
    """The driver did something that the requirement forbids, or did not do what it demands."""


class TimingMiss(Deviation):
    """The reaction was right and came, but outside its bound; the case is tried again before it is evaluated."""


class NotSent(Deviation):
    """The stimulus did not leave the harness's socket, so nothing can be said of the driver."""


class NotSupported(Deviation):
    """The driver says that it does not offer what the case needs."""


class MachineLacks(NotSupported):
    """The machine cannot carry what the case needs, so nothing can be said of the driver."""


# The note of a result that says nothing of the driver but something of the machine.
MACHINE_LACKS = "this machine cannot carry what the case needs"
MACHINE_LOADED = "machine loaded"  # what begins the note of a deviation that may have come from it


@dataclass(frozen=True, slots=True)
class Case:
    """One rule of the catalogue and how it is tested.

    `since` is the first Aeron release that holds the rule: a peer known to be older and seen to break it is
    reported as unsupported, with what it did. `bound` is the time bound in words, "" where there is none.
    `properties` are Aeron properties that the driver must have been started with.
    """

    id: str
    requirement: str
    source: str
    stimulus: str
    expected: str
    run: Callable[[Bench], None] = field(repr=False, compare=False)
    bound: str = ""
    since: str = ""
    properties: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def group(self) -> str:
        """Catalogue group: the letter of the id."""
        return self.id[0]


@dataclass(slots=True)
class Result:
    """What one run of one case came to."""

    case: Case
    verdict: Verdict
    expected: str = ""
    actual: str = ""
    attempts: int = 1
    duration_s: float = 0.0
    notes: list[str] = field(default_factory=list)
    # What went over the harness's sockets in the last attempt, and how much of it is left out.
    exchanges: list[Exchange] = field(default_factory=list, repr=False)
    exchanges_left: int = 0

    def to_dict(self) -> dict[str, object]:
        """Return the result as plain values for JSON."""
        return {
            "id": self.case.id,
            "group": self.case.group,
            "verdict": self.verdict.value,
            "requirement": self.case.requirement,
            "source": self.case.source,
            "stimulus": self.case.stimulus,
            "expected": self.expected or self.case.expected,
            "actual": self.actual,
            "bound": self.case.bound,
            "attempts": self.attempts,
            "duration_s": round(self.duration_s, 3),
            "notes": self.notes,
        }


def case(
    case_id: str,
    *,
    requirement: str,
    source: str,
    stimulus: str,
    expected: str,
    bound: str = "",
    since: str = "",
    options: Mapping[str, str] | None = None,
) -> Callable[[Callable[[Bench], None]], Case]:
    """Turn a function of a bench into a `Case`; the group module's `CASES` lists what it made.

    `options` are what the driver must have been started with, by their names in the table of options; each set of them is a driver
    of its own, so cases share one where they can.
    """
    properties = {OPTIONS[name].property: value for name, value in (options or {}).items()}

    def wrap(run: Callable[[Bench], None]) -> Case:
        return Case(case_id, requirement, source, stimulus, expected, run, bound, since, properties)

    return wrap


def parse_release(text: str) -> tuple[int, ...]:
    """Return the leading numbers of a release: "1.53.0-SNAPSHOT" -> (1, 53, 0)."""
    numbers: list[int] = []
    for part in text.split("-", maxsplit=1)[0].split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


def is_older(release: str | None, since: str) -> bool:
    """Say whether a peer of a known `release` predates `since`; an unknown release never does."""
    return bool(release and since) and parse_release(release or "") < parse_release(since)
