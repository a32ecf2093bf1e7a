"""Run the long bars at full size: python -m tests.soak.run [--again] [--small] [BAR[/PART] ...].

Resumable: a part that passed on the same sources is not run again (soak/state.json, one entry for each part).
Prints every part's seed and what it measured, and closes with "N passed, N failed"; exits 1 when a part failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.soak.bars import Part, Size
from tests.soak.catalogue import BARS

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / "soak" / "state.json"
# What a part's outcome depends on.
SOURCES = (
    "spec",
    "codegen",
    "generated",
    "runtime",
    "conformance",
    "pcap",
    "benchmarks",
    "tests/soak",
    "tests/fuzz",
    "tests/codegen/sbe",
    "tests/support",
    "tests/conformance",
    "tests/interop",
    "tests/simulation",
    "tests/cluster",
)


def source_digest() -> str:
    """Return a digest of everything that a passed part vouches for."""
    digest = hashlib.sha256()
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".xml", ".py", ".pyx", ".pxd", ".c", ".java", ".patch"}:
                digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()


def load_state(digest: str) -> dict[str, str]:
    """Return what passed before on the same sources: part name -> what it measured."""
    if STATE.exists():
        stored = json.loads(STATE.read_text())
        if stored["sources"] == digest:
            return dict(stored["passed"])
    return {}


def save_state(digest: str, passed: dict[str, str]) -> None:
    STATE.parent.mkdir(exist_ok=True)
    partial = STATE.with_suffix(".tmp")
    partial.write_text(json.dumps({"sources": digest, "passed": passed}, indent=1))
    partial.replace(STATE)


def run_part(name: str, part: Part) -> str | None:
    """Run one part; return what it measured, None when it failed."""
    print(f"{name}: seed {part.seed} ...", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="aw-soak-") as scratch:
        try:
            measured = part.run(Path(scratch))
        except Exception:
            traceback.print_exc()
            print(f"{name}: FAILED after {time.monotonic() - started:.0f} s (seed {part.seed})", flush=True)
            return None
    print(f"{name}: passed in {time.monotonic() - started:.0f} s: {measured}", flush=True)
    return measured


def chosen_parts(wanted: Sequence[str], size: Size) -> Iterator[tuple[str, Part]]:
    """Yield the name and the parts of each BAR, or of each BAR/PART those parts whose names begin so."""
    for bar, _, prefix in (name.partition("/") for name in wanted or BARS):
        for part in BARS[bar](size):
            if part.name.startswith(prefix):
                yield f"{bar}/{part.name}", part


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the long bars at full size.")
    parser.add_argument(
        "bars", nargs="*", metavar="BAR", help=f"one or more of {', '.join(BARS)}; all without; BAR/PART for parts that begin so"
    )
    parser.add_argument("--again", action="store_true", help="run what passed before as well")
    parser.add_argument("--small", action="store_true", help="the size of `make test`; passes are not remembered")
    arguments = parser.parse_args(argv)
    if unknown := [name for name in arguments.bars if name.partition("/")[0] not in BARS]:
        parser.error(f"unknown bar {', '.join(unknown)}; there are {', '.join(BARS)}")
    size = Size.SMALL if arguments.small else Size.FULL
    if empty := [name for name in arguments.bars if "/" in name and not any(chosen_parts([name], size))]:
        parser.error(f"no part of {', '.join(empty)}")

    digest = source_digest()
    passed = {} if arguments.again or arguments.small else load_state(digest)
    outcomes: dict[str, bool] = {}
    try:
        for name, part in chosen_parts(arguments.bars, size):
            if name in passed:
                print(f"{name}: passed before: {passed[name]}", flush=True)
                outcomes[name] = True
                continue
            measured = run_part(name, part)
            outcomes[name] = measured is not None
            if measured is not None and not arguments.small:
                passed[name] = measured
                save_state(digest, passed)
    except KeyboardInterrupt:
        print("interrupted; what passed is remembered", flush=True)
        return 1
    failed = [name for name, good in outcomes.items() if not good]
    for name in failed:
        print(f"failed: {name}")
    print(f"{len(outcomes) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
