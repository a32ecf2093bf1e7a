"""Shows results: live on a terminal, as JSON, as JUnit XML."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from aerowire.conformance.catalogue import GROUPS
from aerowire.conformance.model import Case, Result, Verdict
from aerowire.conformance.progress import LiveLine

COLOURS = {Verdict.PASS: "32", Verdict.FAIL: "31", Verdict.UNSUPPORTED: "33", Verdict.INCONCLUSIVE: "35"}


class Terminal:
    """Prints one line a case as it ends, and the case under way where the output is a terminal."""

    def __init__(self, stream: TextIO | None = None, *, total: int = 0, is_quiet: bool = False, is_in_order: bool = True) -> None:
        """`is_quiet`: show the case under way and nothing else, for a run whose results go to a program.

        Cases that do not come group by group have no headings (`is_in_order`).
        """
        self._stream = stream or sys.stdout
        self._is_coloured = self._stream.isatty()
        self._is_quiet = is_quiet
        self._is_in_order = is_in_order
        self._line = LiveLine()
        self._total = total
        self._done = 0
        self._group = ""

    def on_start(self, case: Case) -> None:
        """Show which case runs."""
        if self._is_in_order and case.group != self._group:
            self._group = case.group
            self._print(f"{case.group}  {GROUPS[case.group]}")
        self._line.show(f"  {case.id}  running  ({self._done + 1} of {self._total})")

    def on_result(self, result: Result) -> None:
        """Show a verdict, and why where it is not a pass."""
        self._done += 1
        self._line.clear()
        case = result.case
        verdict = self._paint(f"{result.verdict.value:<12}", COLOURS[result.verdict])
        tries = f"  ({result.attempts} attempts)" if result.attempts > 1 else ""
        self._print(f"  {case.id}  {verdict} {result.duration_s:5.1f} s  {case.requirement}{tries}")
        if result.verdict is not Verdict.PASS:
            self._print(f"       stimulus  {case.stimulus}")
            self._print(f"       expected  {result.expected or case.expected}")
            self._print(f"       actual    {result.actual}")
            for note in result.notes:
                for line in note.rstrip().splitlines():
                    self._print(f"       note      {line}")

    def on_end(self, results: Sequence[Result], duration_s: float) -> None:
        """Show the totals."""
        counts = ", ".join(f"{count} {verdict}" for verdict, count in summary(results).items() if count)
        self._print(f"{len(results)} cases in {duration_s:.0f} s: {counts}")

    def _paint(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._is_coloured else text

    def _print(self, line: str) -> None:
        if not self._is_quiet:
            self._stream.write(line + "\n")
            self._stream.flush()


def summary(results: Sequence[Result]) -> dict[str, int]:
    """Return how many results have each verdict."""
    return {verdict.value: sum(result.verdict is verdict for result in results) for verdict in Verdict}


def exit_code(results: Sequence[Result]) -> int:
    """Return 0 when every case passed (or does not apply to this driver), else 1."""
    return int(any(result.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE) for result in results))


def to_document(results: Sequence[Result], header: Mapping[str, object]) -> dict[str, object]:
    """Return a run as plain values."""
    return {**header, "summary": summary(results), "results": [result.to_dict() for result in results]}


def write_report(directory: Path, results: Sequence[Result], header: Mapping[str, object]) -> None:
    """Write `results.json` and `junit.xml` into `directory`, which is made if need be."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "results.json").write_text(json.dumps(to_document(results, header), indent=2) + "\n")
    suite = ET.Element("testsuite", name=f"conformance {header.get('driver', '')}".strip())
    counts = summary(results)
    suite.set("tests", str(len(results)))
    suite.set("failures", str(counts[Verdict.FAIL]))
    suite.set("errors", str(counts[Verdict.INCONCLUSIVE]))
    suite.set("skipped", str(counts[Verdict.UNSUPPORTED]))
    for result in results:
        node = ET.SubElement(suite, "testcase", classname=f"conformance.{result.case.group}", name=result.case.id)
        node.set("time", f"{result.duration_s:.3f}")
        tag = {Verdict.FAIL: "failure", Verdict.INCONCLUSIVE: "error", Verdict.UNSUPPORTED: "skipped"}.get(result.verdict)
        if tag is not None:
            reason = ET.SubElement(node, tag, message=f"expected {result.expected}; got {result.actual}")
            reason.text = "\n".join([result.case.requirement, *result.notes])
    ET.ElementTree(suite).write(directory / "junit.xml", encoding="utf-8", xml_declaration=True)
