"""A comparison as text, grouped by what changed, and as JSON."""

from __future__ import annotations

import json
from itertools import groupby

from aerowire.codegen.sbe.comparison.changes import Change, Grade, Side
from aerowire.codegen.sbe.comparison.schemas import Comparison

NO_CHANGE = "no change"
_MESSAGES = {Side.OLD: "new messages", Side.NEW: "old messages"}


def as_text(comparison: Comparison) -> str:
    """Return a heading for each part of the schema that changed, a line for each change, and what they come to."""
    if not comparison.changes:
        return NO_CHANGE
    parts = groupby(comparison.changes, lambda one: one.where)
    return "\n".join([*("\n  ".join([where, *map(str, found)]) for where, found in parts), _summary(comparison)])


def _summary(comparison: Comparison) -> str:
    broken = [f"{side} of {_MESSAGES[side]} ({len(found)})" for side in Side if (found := comparison.breaking(side))]
    counts = [(len(comparison.graded(Grade.COMPATIBLE)), "compatible change"), (len(comparison.graded(Grade.NOTE)), "note")]
    more = ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts)
    verdict = f"breaks {' and '.join(broken)}" if broken else "compatible"
    return f"{verdict}; {more}"


def as_json(comparison: Comparison) -> str:
    """Return the same as one object."""
    return json.dumps(
        {
            "old": _schema(comparison, "old"),
            "new": _schema(comparison, "new"),
            "compatible": comparison.is_compatible,
            "breaks": {"old_readers": len(comparison.breaking(Side.OLD)), "new_readers": len(comparison.breaking(Side.NEW))},
            "changes": [_change(change) for change in comparison.changes],
        },
        indent=2,
        ensure_ascii=False,
    )


def _schema(comparison: Comparison, side: str) -> dict[str, object]:
    schema = comparison.old if side == "old" else comparison.new
    return {"file": schema.source, "package": schema.package, "id": schema.id, "version": schema.version}


def _change(change: Change) -> dict[str, object]:
    return {
        "kind": change.kind,
        "where": change.where,
        "grade": change.grade,
        "breaks": [str(side).replace(" ", "_") for side in change.breaks],
        "what": change.what,
        "why": change.why,
        "old": None if change.old is None else str(change.old),
        "new": None if change.new is None else str(change.new),
    }
