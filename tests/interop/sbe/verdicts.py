"""Verdicts and counts of the official tool beside ours; what may differ is listed here."""

from __future__ import annotations

import random
from pathlib import Path

from aerowire.codegen.sbe.reader import Reading, ReadOptions, read_message_schema
from aerowire.codegen.sbe.reader.language_names import LANGUAGES
from tests.codegen.sbe.schema_mutation import SCHEMAS, change_tree
from tests.interop.sbe.official import OfficialTool, Verdict

OPTIONS = ReadOptions(names=tuple(LANGUAGES))

COUNTED = ": had "  # in what the official tool throws after it has read all and counted
# The official tool accepts what has one of these, though nothing can be made of it (a negative bit: until its next release).
REFUSED_HERE = {
    "bad-constant",
    "variable-field",
    "bad-member",
    "bad-encoding-type",
    "bad-length",
    "choice-out-of-range",
    "number-too-great",
}


def check_schema(official: OfficialTool, file: Path) -> tuple[Verdict, str | None]:
    """Let both read a file; return what the official tool makes of it, and what ours makes else."""
    verdict = official.read(file)
    return verdict, difference(verdict, read_message_schema(file, file.name, OPTIONS))


def check_mutations(official: OfficialTool, seed: int, count: int, scratch: Path) -> str:
    """Compare so many schemas with something changed in them.  Raises AssertionError with the seed and the schema where they differ."""
    chance = random.Random(seed)
    sources = [path.read_bytes() for path in sorted(SCHEMAS.glob("*.xml"))]
    file = scratch / "changed.xml"
    valid = refused = problems = compared = 0
    for index in range(count):
        text = change_tree(chance.choice(sources), chance)
        file.write_bytes(text)
        verdict, found = check_schema(official, file)
        assert found is None, f"seed {seed}, mutation {index}: {found}\n{text.decode()}"
        valid += verdict.is_valid
        refused += not verdict.is_valid
        problems += sum(verdict.counts)
        compared += verdict.exception is None or COUNTED in verdict.exception
    assert valid
    assert refused
    assert problems
    assert compared > count // 2, f"seed {seed}: the official tool counted the errors of {compared} of {count} schemas only"
    return (
        f"{count} schemas: {valid} valid, {refused} refused, {problems} errors and warnings, as officially; "
        f"of {count - compared} the official tool counted nothing but threw"
    )


def difference(verdict: Verdict, reading: Reading) -> str | None:
    """What the two disagree on.  Where the official tool throws instead of counting, ours has an error or accepts more."""
    errors = sum(problem.is_error for problem in reading.problems)
    warnings = sum(problem.severity == "warning" for problem in reading.problems)
    counts = (errors, warnings)
    said = f"official {verdict.counts} {verdict.exception}, ours {counts} {[str(problem) for problem in reading.problems]}"
    if verdict.exception is not None and not verdict.errors:
        return None if errors or _is_more_liberal(verdict.exception) else said
    if verdict.exception is not None and COUNTED not in verdict.exception:
        return None if errors else said
    if own := sum(problem.is_error and problem.rule in REFUSED_HERE for problem in reading.problems):
        return None if errors <= verdict.counts[0] + own else said  # fewer: ours stops behind them
    return None if verdict.counts == counts else said


def _is_more_liberal(exception: str) -> bool:
    """Whitespace around a number or a character, which ours takes away."""
    text = exception.partition(":")[2]
    return any(f"{said}{space}" in text for said in ('For input string: "', "Constant char value malformed: ") for space in " \n\t")
