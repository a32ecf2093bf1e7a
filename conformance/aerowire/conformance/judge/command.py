"""`conformance judge`: its arguments, and what it prints."""

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
    from aerowire.conformance.judge.judgement import Judgement

EXAMPLES = """\
Examples:
  conformance judge capture.pcap
  conformance judge --ports 40123,40124 monday.pcapng tuesday.pcapng
  conformance judge --json capture.pcap
"""
EXIT_CODES = """
Exit codes: 0 no rule was broken; 1 one was, or the capture holds nothing of Aeron; 2 usage, or a file that cannot be read.
"""
# A sender that breaks a rule with every packet has said enough.
SHOWN_MAX = 10


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    judge = commands.add_parser(
        "judge",
        help="hold captures to the rules that the wire can show",
        description="Hold captures to the rules that the wire alone can show: cadence, windows, NAKs, resending, fields, ends.",
        epilog=EXAMPLES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    judge.add_argument("files", type=Path, nargs="+", metavar="FILE", help="pcap or pcapng file")
    judge.add_argument(
        "--ports", type=ports, default=frozenset(), metavar="N,N", help="judge only datagrams from or to these ports (default: all)"
    )
    judge.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    judge.set_defaults(run=judge_captures)


def ports(text: str) -> frozenset[int]:
    """Return the UDP ports that an argument names."""
    found = set()
    for part in text.split(","):
        if not part.strip().isdecimal() or not 0 < int(part) < 1 << 16:
            raise argparse.ArgumentTypeError(f"expected ports from 1 to 65535, such as 40123,40124; got {text}")
        found.add(int(part))
    return frozenset(found)


def judge_captures(options: argparse.Namespace) -> int:
    """`conformance judge FILE...`."""
    from aerowire.conformance.judge.judgement import judge_file

    judgements: list[Judgement] = []
    for path in options.files:
        if not path.is_file():
            raise ConformanceError(f"{path}: no such capture")
        judgements.append(judge_file(path, options.ports))
        if not options.json:
            print("\n".join(map(printable, lines_of(judgements[-1]))), flush=True)
    if options.json:
        print(json.dumps([to_dict(each) for each in judgements], indent=2))
    return 0 if all(each.is_pass for each in judgements) else 1


def lines_of(judgement: Judgement) -> list[str]:
    """Return what a person reads: each rule that was put to the test, and where it was broken."""
    from aerowire.conformance.judge.rules import RULES

    court = judgement.court
    verdicts = {case_id: verdict for case_id, verdict in court.verdicts().items() if verdict is not None}
    broken = sum(verdict is Verdict.FAIL for verdict in verdicts.values())
    kept = sum(verdict is Verdict.PASS for verdict in verdicts.values())
    head = f"{judgement.name}: packets of Aeron: {judgement.packets}, streams: {judgement.streams}, rules broken: {broken}, kept: {kept}"
    if not court.checks:
        return [f"{judgement.name}: nothing of Aeron in it"]
    lines = [head]
    by_rule = defaultdict(list)
    for violation in court.violations:
        by_rule[violation.case_id].append(violation)
    for case_id, verdict in verdicts.items():
        lines.append(f"  {case_id}  {verdict.value:<12} {court.checks[case_id]:>7} checks  {RULES[case_id]}")
        if case_id in court.left:
            lines.append(f"       {court.left[case_id]}")
        for violation in by_rule[case_id][:SHOWN_MAX]:
            numbers = ", ".join(map(str, violation.packets))
            name = "packets" if len(violation.packets) > 1 else "packet"
            lines.append(f"       {name} {numbers}: expected {violation.expected}; got {violation.actual}")
        if len(by_rule[case_id]) > SHOWN_MAX:
            lines.append(f"       and {len(by_rule[case_id]) - SHOWN_MAX} times more")
    return lines


def to_dict(judgement: Judgement) -> dict[str, object]:
    """Return a judgement as plain values for JSON."""
    from aerowire.conformance.judge.rules import RULES

    court = judgement.court
    return {
        "file": judgement.name,
        "packets": judgement.packets,
        "streams": judgement.streams,
        "rules": [
            {
                "case": case_id,
                "verdict": None if verdict is None else verdict.value,
                "checks": court.checks[case_id],
                "requirement": RULES[case_id],
            }
            for case_id, verdict in court.verdicts().items()
        ],
        "violations": [violation.to_dict() for violation in court.violations],
        "inconclusive": court.left,
    }
