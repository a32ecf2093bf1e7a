"""Faults planted in the driver: each is found by the seeds of a scenario, run by the command in a copy of the tree."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.simulation.planted.planting import PLANTED, ROOT, apply
from tests.support.trees import copy_tree, environment, execute

SEEDS_MAX = 200


@dataclass(frozen=True)
class Planted:
    """A fault, the scenario whose seeds find it, and the rules that may: any of them, as a fault breaks several."""

    name: str
    scenario: str
    rules: tuple[str, ...]
    family: str = "transport"

    @property
    def patch(self) -> Path:
        """The patch file."""
        return PLANTED / f"{self.family}--{self.name}.patch"

    @property
    def is_native(self) -> bool:
        """Whether it has to be compiled."""
        return any(line.startswith("+++ ") and line.rstrip().endswith(".pyx") for line in self.patch.read_text().splitlines())


PROGRESS = "what lives makes progress"
# Once all faults have ended, and before there were any.
CONNECTED = ("a running application is connected", "two sides that run are connected")
FAULTS = (
    Planted("nak-never-sent", "mild", (PROGRESS, *CONNECTED)),
    Planted("limit-of-the-fastest-subscriber", "quiet", ("positions keep to their limits",)),
    Planted("position-before-its-data", "mild", (PROGRESS,)),
    Planted("end-told-early", "partitions", ("a stream ends with its last message",)),
    Planted("counter-reused-at-once", "quiet", ("a freed counter rests before it has a new owner",)),
    Planted("living-claim-unblocked", "quiet", ("messages arrive contiguous and in order",)),
    Planted("dead-clients-publication-kept", "crashes", ("the dead leave nothing behind", "one side alone is not connected")),
    Planted("status-message-to-the-wrong-address", "quiet", (PROGRESS, *CONNECTED)),
    Planted("wall-clock-for-a-timeout", "partitions", ("a running client is not given up",)),
)


def plant(fault: Planted, tree: Path) -> None:
    """Make a copy of the tree with a fault."""
    if fault.is_native:
        copy_tree(tree)
    else:  # what is compiled is the same
        for root in ("generated", "runtime"):
            shutil.copytree(ROOT / root, tree / root, ignore=shutil.ignore_patterns("__pycache__", "*.pyx", "*.pxd", "*.c"))
    apply(fault.patch, tree)
    if fault.is_native:
        execute(tree, "hatch_build.py")


def find(fault: Planted, tree: Path, *, first: int = 0, seeds: int = SEEDS_MAX) -> str:
    """Run seeds in a tree with a fault until one fails, and check that it fails by the fault's rule; return a line that says which."""
    command = ["-m", "aerowire.tools.main", "simulate", fault.scenario, "--seeds", f"{first}-{first + seeds - 1}"]
    return first_failure(fault, [*command, "--repeat-every", "0", "--json"], tree, environment(tree))


def first_failure(fault: Planted, command: list[str], tree: Path, variables: dict[str, str]) -> str:
    """Run a command of Python that prints the outcome of one seed after the other, as `find` does."""
    seeds = 0
    with subprocess.Popen([sys.executable, *command], cwd=tree, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        try:
            for line in running.stdout:
                entry, seeds = json.loads(line), seeds + 1
                if entry["outcome"] != "passed":
                    assert any(rule in entry["told"] for rule in fault.rules), f"{fault.name}, seed {entry['seed']}: {entry['told']}"
                    return f"{fault.name}: found by {fault.scenario}, seed {entry['seed']}: {entry['told']}"
        finally:
            running.kill()
    raise AssertionError(f"{fault.name}: not found by {seeds} seeds of {fault.scenario}")
