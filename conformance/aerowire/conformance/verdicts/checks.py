"""What the rules say of a capture: checks counted, violations kept with their packets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from aerowire.conformance.model import Verdict
from aerowire.conformance.verdicts.rules import RULES


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule broken: in which packets (numbers of the file, from 1, the last one shows it), what was due and what came."""

    case_id: str
    packets: tuple[int, ...]
    expected: str
    actual: str

    def to_dict(self) -> dict[str, object]:
        """Return the violation as plain values for JSON."""
        return {"case": self.case_id, "packets": list(self.packets), "expected": self.expected, "actual": self.actual}


class RuleChecks:
    """Takes checks in; knows how often each rule was put to the test, and where it was broken."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.violations: list[Violation] = []
        self.left: dict[str, str] = {}

    def leave(self, case_id: str, reason: str) -> None:
        """Note why nothing can be said of a rule."""
        self.left[case_id] = reason

    def check(self, case_id: str, is_kept: bool, packets: Iterable[int], expected: str, actual: str) -> bool:
        """Count a check of a rule; keep it as a violation when the rule was broken. Return whether it was kept."""
        self.counts[case_id] += 1
        if not is_kept:
            self.violations.append(Violation(case_id, tuple(packets), expected, actual))
        return is_kept

    def verdict(self, case_id: str) -> Verdict | None:
        """Return what the capture shows of a rule: pass, fail, inconclusive, or None where it was never put to the test."""
        if any(violation.case_id == case_id for violation in self.violations):
            return Verdict.FAIL
        if case_id in self.left:
            return Verdict.INCONCLUSIVE
        return Verdict.PASS if self.counts[case_id] else None

    def verdicts(self) -> dict[str, Verdict | None]:
        """Return the verdict of every rule, in the catalogue's order."""
        return {case_id: self.verdict(case_id) for case_id in RULES}
