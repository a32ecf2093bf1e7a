"""`conformance check`: its arguments, and what it prints."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.conformance.errors import ConformanceError
from aerowire.conformance.model import Verdict
from aerowire.conformance.text import printable

if TYPE_CHECKING:
    from aerowire.conformance.verdicts.evaluation import Evaluation

EXAMPLES = """\
Examples:
  conformance check capture.pcap
  conformance check --ports 40123,40124 monday.pcapng tuesday.pcapng
  conformance check --json capture.pcap
"""
EXIT_CODES = """
Exit codes: 0 no rule was broken; 1 one was, or the capture holds nothing of Aeron; 2 usage, or a file that cannot be read.
"""
# A sender that breaks a rule with every packet has said enough.
SHOWN_MAX = 10


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    check = commands.add_parser(
        "check",
        help="hold captures to the rules that the wire can show",
        description="Hold captures to the rules that the wire alone can show: cadence, windows, NAKs, resending, fields, ends.",
        epilog=EXAMPLES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check.add_argument("files", type=Path, nargs="+", metavar="FILE", help="pcap or pcapng file")
    check.add_argument(
        "--ports", type=ports, default=frozenset(), metavar="N,N", help="check only datagrams from or to these ports (default: all)"
    )
    check.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    check.set_defaults(run=evaluate_captures)


def ports(text: str) -> frozenset[int]:
    """Return the UDP ports that an argument names."""
    found = set()
    for part in text.split(","):
        if not part.strip().isdecimal() or not 0 < int(part) < 1 << 16:
            raise argparse.ArgumentTypeError(f"expected ports from 1 to 65535, such as 40123,40124; got {text}")
        found.add(int(part))
    return frozenset(found)


def evaluate_captures(options: argparse.Namespace) -> int:
    """`conformance check FILE...`."""
    from aerowire.conformance.verdicts.evaluation import evaluate_file

    evaluations: list[Evaluation] = []
    for path in options.files:
        if not path.is_file():
            raise ConformanceError(f"{path}: no such capture")
        evaluations.append(evaluate_file(path, options.ports))
        if not options.json:
            print("\n".join(map(printable, lines_of(evaluations[-1]))), flush=True)
    if options.json:
        print(json.dumps([to_dict(each) for each in evaluations], indent=2))
    return 0 if all(each.is_pass for each in evaluations) else 1


def lines_of(evaluation: Evaluation) -> list[str]:
    """Return what a person reads: each rule that was put to the test, and where it was broken."""
    from aerowire.conformance.verdicts.rules import RULES

    checks = evaluation.checks
    verdicts = {case_id: verdict for case_id, verdict in checks.verdicts().items() if verdict is not None}
    broken = sum(verdict is Verdict.FAIL for verdict in verdicts.values())
    kept = sum(verdict is Verdict.PASS for verdict in verdicts.values())
    head = f"{evaluation.name}: packets of Aeron: {evaluation.packets}, streams: {evaluation.streams}, rules broken: {broken}, kept: {kept}"
    if not checks.counts:
        return [f"{evaluation.name}: nothing of Aeron in it"]
    lines = [head]
    by_rule = defaultdict(list)
    for violation in checks.violations:
        by_rule[violation.case_id].append(violation)
    for case_id, verdict in verdicts.items():
        lines.append(f"  {case_id}  {verdict.value:<12} {checks.counts[case_id]:>7} checks  {RULES[case_id]}")
        if case_id in checks.left:
            lines.append(f"       {checks.left[case_id]}")
        for violation in by_rule[case_id][:SHOWN_MAX]:
            numbers = ", ".join(map(str, violation.packets))
            name = "packets" if len(violation.packets) > 1 else "packet"
            lines.append(f"       {name} {numbers}: expected {violation.expected}; got {violation.actual}")
        if len(by_rule[case_id]) > SHOWN_MAX:
            lines.append(f"       and {len(by_rule[case_id]) - SHOWN_MAX} times more")
    return lines


def to_dict(evaluation: Evaluation) -> dict[str, object]:
    """Return a evaluation as plain values for JSON."""
    from aerowire.conformance.verdicts.rules import RULES

    checks = evaluation.checks
    return {
        "file": evaluation.name,
        "packets": evaluation.packets,
        "streams": evaluation.streams,
        "rules": [
            {
                "case": case_id,
                "verdict": None if verdict is None else verdict.value,
                "checks": checks.counts[case_id],
                "requirement": RULES[case_id],
            }
            for case_id, verdict in checks.verdicts().items()
        ],
        "violations": [violation.to_dict() for violation in checks.violations],
        "inconclusive": checks.left,
    }
