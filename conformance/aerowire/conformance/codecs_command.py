"""`conformance codecs`: its arguments, and what it prints."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from aerowire.conformance.errors import ConformanceError

EXAMPLES = """\
Examples:
  conformance codecs
  conformance codecs --json
  conformance codecs --vectors mine.tsv

A file of vectors has a line per struct: its name, a JSON object of values, and its bytes in hex, with tabs between.
"""
EXIT_CODES = """
Exit codes: 0 every target agrees with every vector; 1 one does not; 2 usage, or a file that cannot be read.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    codecs = commands.add_parser(
        "codecs",
        help="hold the generated codecs to bytes of the official classes",
        description="Read and write test vectors with the flyweights, the NumPy dtypes and the scapy layers. The vectors that are used\n"
        "without --vectors are frames, commands and responses as Aeron's own classes wrote them.",
        epilog=EXAMPLES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    codecs.add_argument("--vectors", type=Path, metavar="FILE", help="the vectors (default: those of this package)")
    codecs.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    codecs.set_defaults(run=check_codecs)


def check_codecs(options: argparse.Namespace) -> int:
    """`conformance codecs`."""
    from aerowire.conformance.codecs import TARGETS, check, load_vectors

    try:
        vectors = load_vectors(options.vectors)
    except ValueError as error:
        raise ConformanceError(str(error)) from error
    checked: dict[str, dict[str, int]] = {}
    failures: list[dict[str, str | int]] = []
    failed = set()
    for vector in vectors:
        counts = checked.setdefault(vector.struct, dict.fromkeys(TARGETS, 0))
        for target in TARGETS:
            problem = check(vector, target)
            counts[target] += problem is not None
            if problem:
                failed.add((vector.struct, target))
                failures.append({"struct": vector.struct, "target": target, "line": vector.line, "problem": problem})
    if options.json:
        print(json.dumps({"vectors": len(vectors), "checked": checked, "failures": failures}, indent=2))
    else:
        show(checked, failed)
        for failure in failures:
            print("line {line}, {struct}, {target}: {problem}".format_map(failure))
        print(f"{len(vectors)} vectors, {len(failures)} failures")
    return 1 if failures else 0


def show(checked: dict[str, dict[str, int]], failed: set[tuple[str, str]]) -> None:
    """Print a row for each struct: pass, FAIL, or - where a target has no such struct."""
    targets = list(next(iter(checked.values())))
    width = max(len("struct"), *map(len, checked))
    print("  ".join(["struct".ljust(width), *(target.ljust(10) for target in targets)]).rstrip())
    for struct, counts in checked.items():
        verdicts = ["FAIL" if (struct, target) in failed else "pass" if count else "-" for target, count in counts.items()]
        print("  ".join([struct.ljust(width), *(verdict.ljust(10) for verdict in verdicts)]).rstrip())
