"""Seeds of a world of members' machines, one after another until one fails: a line of JSON for each, as `aerowire simulate --json` has.

python -m tests.cluster.hunt consensus 0-299
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from typing import Protocol

from tests.cluster.consensus.checkers import ViolationError
from tests.cluster.consensus.random_world import RandomWorld
from tests.cluster.module.recovered.world import RecoveredWorld
from tests.cluster.module.replicated.world import ReplicatedWorld


class World(Protocol):
    """A world that is drawn from a seed."""

    def run(self) -> None:
        """Run it. Raises ViolationError."""


WORLDS: dict[str, Callable[[int], World]] = {"consensus": RandomWorld, "replicated": ReplicatedWorld, "recovered": RecoveredWorld}


def run(name: str, seed: int) -> dict[str, object]:
    """Run a seed; return its outcome, with the rule that was broken or the error that was raised."""
    outcome, told = "passed", ""
    try:
        WORLDS[name](seed).run()
    except ViolationError as violation:
        outcome, told = "failed", str(violation)
    except Exception:
        outcome, told = "raised", traceback.format_exc()
    return {"scenario": name, "seed": seed, "outcome": outcome, "told": told}


def main(name: str, seeds: str) -> int:
    """Run seeds from the first to the last one, as long as they pass; return the exit status."""
    first, last = map(int, seeds.split("-"))
    for seed in range(first, last + 1):
        entry = run(name, seed)
        print(json.dumps(entry), flush=True)
        if entry["outcome"] != "passed":
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
