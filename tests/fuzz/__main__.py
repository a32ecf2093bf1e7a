"""Run the coverage-guided fuzzer: python -m tests.fuzz [TARGET ...] [--seconds N | --executions N] [--seed S].

On an ordinary build mutations are blind; `.ci/asan.sh --run tests.fuzz ...` runs it on the instrumented build. A finding's input is
made shorter and saved in --findings with what was printed. Closes with "N passed, N failed"; exits 1 when a target failed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.fuzz.catalogue import TARGETS
from tests.fuzz.runner import Run, run_target


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz native entry points and readers.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"some of {', '.join(TARGETS)}; all without")
    parser.add_argument("--seconds", type=float, default=1e9, help="for each target")
    parser.add_argument("--executions", type=int, default=1 << 62, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--findings", type=Path, default=Path("soak/fuzz/findings"))
    parser.add_argument("--keep", type=Path, help="folder in which each target's corpus grows")
    parser.add_argument("--condense", type=Path, metavar="FOLDER", help="write a minimised corpus there")
    parser.add_argument("--most", type=int, default=1, help="findings of one target after which it ends")
    arguments = parser.parse_args()
    if arguments.seconds >= 1e9 and arguments.executions >= 1 << 62:
        arguments.seconds = 60.0
    if unknown := set(arguments.targets) - set(TARGETS):
        parser.error(f"unknown target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    failed = 0
    names = arguments.targets or TARGETS
    for name in names:
        run = Run(
            name,
            seed=arguments.seed,
            executions=arguments.executions,
            seconds=arguments.seconds,
            findings=arguments.findings,
            keep=arguments.keep / name if arguments.keep else None,
            condense=arguments.condense / name if arguments.condense else None,
            most=arguments.most,
        )
        found = run_target(run)
        for finding in found:
            print(f"{name}: FINDING after {finding.executions} executions (seed {finding.seed}): {finding.summary}\n  {finding.path}")
        failed += bool(found)
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
