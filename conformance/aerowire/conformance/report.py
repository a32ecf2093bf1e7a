"""Shows results: live on a terminal, and in files: JSON, JUnit XML, captures, a page for the browser."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from aerowire.conformance.catalogue import TOPICS
from aerowire.conformance.errors import ConformanceError
from aerowire.conformance.harness.trace import to_rows, write_capture
from aerowire.conformance.model import Case, Result, Verdict
from aerowire.conformance.page import page
from aerowire.conformance.progress import LiveLine
from aerowire.conformance.text import printable

COLOURS = {Verdict.PASS: "32", Verdict.FAIL: "31", Verdict.UNSUPPORTED: "33", Verdict.INCONCLUSIVE: "35"}

# What the page shows of a run and of a case.
DOCUMENT_KEYS = ("driver", "summary", "results")
RESULT_KEYS = ("id", "group", "verdict", "requirement", "stimulus", "expected", "actual", "exchanges")
# XML has no way to say these.
NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


class ReportError(ConformanceError):
    """The directory holds what cannot be shown beside a run."""


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
            self._print(f"{case.group}  {TOPICS[case.group]}")
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
            self._print(f"       expected  {printable(result.expected or case.expected)}")
            self._print(f"       actual    {printable(result.actual)}")
            for note in result.notes:
                for line in note.rstrip().split("\n"):
                    self._print(f"       note      {printable(line)}")

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


def write_report(directory: Path, results: Sequence[Result], header: Mapping[str, object]) -> list[Path]:
    """Write what is left of a run into `directory`, which is made if need be; return the files.

    `results-NAME.json`, `junit-NAME.xml`, and a capture of each case that did not pass, NAME being the driver's; and `report.html`, which
    shows every driver whose results are there.
    """
    name = file_name(str(header.get("driver", "driver")))
    directory.mkdir(parents=True, exist_ok=True)
    document = to_document(results, header)
    document["results"] = [
        {**result.to_dict(), "exchanges": to_rows(result.exchanges), "exchanges_left": result.exchanges_left} for result in results
    ]
    json_path, xml_path, page_path = directory / f"results-{name}.json", directory / f"junit-{name}.xml", directory / "report.html"
    json_path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    ET.ElementTree(junit_suite(results, header)).write(xml_path, encoding="utf-8", xml_declaration=True)
    captures = write_captures(directory / f"captures-{name}", results)
    documents = [read_document(path) for path in sorted(directory.glob("results-*.json"))]
    page_path.write_text(page(documents), encoding="utf-8")
    return [json_path, xml_path, page_path, *captures]


def read_document(path: Path) -> dict[str, object]:
    """Return what a run left. Raises ReportError for what is not a run's, or lacks what the page shows."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        assert_whole(document)
    except (ValueError, KeyError, TypeError) as error:
        told = f"{type(error).__name__}: {error}"
        raise ReportError(f"{path}: not the results of this release's runs; remove it, or write the report elsewhere ({told})") from None
    return dict(document)


def assert_whole(document: Mapping[str, Any]) -> None:
    """Raise KeyError or TypeError where a document lacks what the page shows."""
    for name in DOCUMENT_KEYS:
        document[name]
    for result in document["results"]:
        for name in RESULT_KEYS:
            result[name]


def file_name(text: str) -> str:
    """Return a name of a driver as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)


def write_captures(directory: Path, results: Sequence[Result]) -> list[Path]:
    """Write what went over the wire in each case that failed or has no conclusion, to be opened in Wireshark; return the files."""
    found: list[Path] = []
    for result in results:
        if result.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE) and result.exchanges:
            directory.mkdir(parents=True, exist_ok=True)
            found.append(directory / f"{result.case.id}.pcap")
            write_capture(found[-1], result.exchanges)
    return found


def junit_suite(results: Sequence[Result], header: Mapping[str, object]) -> ET.Element:
    """Return a run as JUnit has it: a driver that fails a rule is a failure, a case without a conclusion an error."""
    suite = ET.Element("testsuite", name=xml_text(f"conformance {header.get('driver', '')}".strip()))
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
            reason = ET.SubElement(node, tag, message=xml_text(f"expected {result.expected}; got {result.actual}"))
            reason.text = xml_text("\n".join([result.case.requirement, *result.notes]))
    return suite


def xml_text(text: str) -> str:
    """Return a text as XML can hold it: what a driver said may have any character."""
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
