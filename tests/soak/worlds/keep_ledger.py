"""Keep the ledger of a whole run of simulated worlds in the repository: python -m tests.soak.worlds.keep_ledger [--partial] BAR.

Takes the entries that the bar has made with the code as it is, which has to be that of a commit, and refuses where a seed is missing or has
failed: then the bar has to be run first, and goes on where it was. A partial ledger may lack seeds, and says how many.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from aerowire.simulation.scenarios.catalogue import SCENARIOS
from aerowire.tools.simulate.code_version import code_version
from aerowire.tools.simulate.ledger import PASSED, Entry, Ledger
from tests.soak.worlds import seeds, simulated_archive, simulated_cluster, simulated_machines

HERE = Path(__file__).parent
# Bar -> what it writes, what is kept, and how many seeds each of its scenarios has.
BARS = {
    "seeds": (seeds.LEDGER, HERE / "seeds.jsonl", dict.fromkeys(SCENARIOS, seeds.SEEDS)),
    "simulated-archive": (simulated_archive.LEDGER, HERE / "archive_seeds.jsonl", simulated_archive.SEEDS),
    "simulated-cluster": (simulated_cluster.LEDGER, HERE / "cluster_seeds.jsonl", simulated_cluster.SEEDS),
    "simulated-machines": (
        simulated_machines.LEDGER,
        HERE / "machine_seeds.jsonl",
        {simulated_machines.NAME: simulated_machines.BLOCKS},  # of which each is an entry
    ),
}


def entries_of_run(path: Path, version: str, counts: dict[str, int], *, is_partial: bool = False) -> list[Entry]:
    """Return the entries of a run in the order of scenarios and seeds. Raises ValueError unless every seed has passed.

    A partial run may lack seeds, but has none that has failed.
    """
    with Ledger(path, version) as ledger:
        found = {(name, seed): ledger.find(name, seed) for name, count in counts.items() for seed in range(count)}
    wrong = [f"{name} {seed}" for (name, seed), entry in found.items() if (not is_partial if entry is None else entry.outcome != PASSED)]
    if wrong:
        raise ValueError(f"{path}, version {version}: {len(wrong):,} of {len(found):,} seeds have not passed, the first is {wrong[0]}")
    return [entry for entry in found.values() if entry is not None]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Keep the ledger of a whole run of simulated worlds in the repository.")
    parser.add_argument("bar", choices=BARS)
    parser.add_argument("--partial", action="store_true", help="keep what has passed, and say how much is missing")
    arguments = parser.parse_args(argv)
    source, kept, counts = BARS[arguments.bar]
    version = code_version()
    if "." in version.partition("+")[2]:
        print(f"version {version}: commit what has been changed, and run the bar again")
        return 1
    try:
        entries = entries_of_run(source, version, counts, is_partial=arguments.partial)
    except (ValueError, OSError) as error:
        print(error)
        return 1
    kept.write_text("".join(f"{json.dumps(asdict(entry), ensure_ascii=False)}\n" for entry in entries))
    total = sum(counts.values())
    missing = f", {total - len(entries):,} of {total:,} not reached" if len(entries) < total else ""
    simulated_s = sum(entry.simulated_s for entry in entries)
    print(f"{kept}: {len(entries):,} entries, {simulated_s:,.0f} simulated s, version {version}: all passed{missing}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
