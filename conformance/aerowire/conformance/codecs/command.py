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

A file of vectors has a line per struct, or per message as SCHEMA.MESSAGE: its name, a JSON object of values, and its bytes in hex, with
tabs between.
"""
EXIT_CODES = """
Exit codes: 0 every target agrees with every vector; 1 one does not; 2 usage, or a file that cannot be read.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    codecs = commands.add_parser(
        "codecs",
        help="hold the generated codecs to bytes of the official classes",
        description="Read and write test vectors with everything that is generated for them: flyweights, data classes (records),\n"
        "NumPy dtypes, Arrow record batches, scapy layers, and Wireshark's dissectors where there is a tshark. The vectors that\n"
        "are used without --vectors are frames, commands, responses, what stands in files, and the messages of Archive and\n"
        "Cluster, as Aeron's own classes wrote them.",
        epilog=EXAMPLES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    codecs.add_argument("--vectors", type=Path, metavar="FILE", help="the vectors (default: those of this package)")
    codecs.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    codecs.set_defaults(run=check_codecs)


def check_codecs(options: argparse.Namespace) -> int:
    """`conformance codecs`."""
    from aerowire.conformance.codecs import wireshark
    from aerowire.conformance.codecs.targets import TARGETS, check_all, load_vectors

    try:
        vectors = load_vectors(options.vectors)
    except ValueError as error:
        raise ConformanceError(str(error)) from error
    checked: dict[str, dict[str, int]] = {}
    failures: list[dict[str, str | int]] = []
    failed = set()
    for target in TARGETS:
        for vector, problem in zip(vectors, check_all(vectors, target), strict=True):
            counts = checked.setdefault(vector.struct, dict.fromkeys(TARGETS, 0))
            counts[target] += problem is not None
            if problem:
                failed.add((vector.struct, target))
                failures.append({"struct": vector.struct, "target": target, "file": vector.file, "line": vector.line, "problem": problem})
    if options.json:
        print(json.dumps({"vectors": len(vectors), "checked": checked, "failures": failures}, indent=2))
    else:
        show(checked, failed)
        for failure in failures:
            print("{file}, line {line}, {struct}, {target}: {problem}".format_map(failure))
        if not wireshark.is_available():
            print("wireshark: not checked, tshark is not installed (apt-get install tshark)")
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
