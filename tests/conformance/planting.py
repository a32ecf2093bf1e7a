"""Faults planted in the driver's source: each patch of planted/ breaks one rule, and the case that its name begins with has to find it.

The suite that evaluates is this tree's; only the driver is the copy's.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from aerowire.conformance.catalogue import select
from aerowire.conformance.harness.load import LoadGauge
from aerowire.conformance.model import Result, Verdict
from aerowire.conformance.peers.base import Peer, started
from aerowire.conformance.peers.drivers import CommandPeer, short_timers
from aerowire.conformance.runner import Runner
from tests.support.trees import copy_tree, environment, execute

PATCHES = sorted((Path(__file__).parent / "planted").glob("*.patch"))


def case_of(patch: Path) -> str:
    """Return the id of the case that has to find a patch."""
    return patch.name.partition("-")[0]


def check_planted(patches: Sequence[Path], scratch: Path, seed: int) -> str:
    """Check that the cases pass on a copy of the driver, and each fails on the copy with its patch."""
    sound = scratch / "sound"
    sound.mkdir()
    copy_tree(sound)
    cases = sorted({case_of(patch) for patch in patches})
    for result in results_of(sound, cases, seed):
        assert result.verdict is Verdict.PASS, f"without a patch: {result.to_dict()}"
    for patch in patches:
        tree = scratch / "patched"
        shutil.copytree(sound, tree)
        plant(tree, patch)
        with pytest.MonkeyPatch.context() as quiet:
            # The fault is certain: what comes late by it is not for a machine under load to excuse.
            quiet.setattr(LoadGauge, "reason_since", lambda *_: None)
            found = results_of(tree, [case_of(patch)], seed)[0]
        assert found.verdict is Verdict.FAIL, f"{patch.name}: {found.to_dict()}"
        shutil.rmtree(tree)
    return f"{len(cases)} cases pass, {len(patches)} planted faults found"


def plant(tree: Path, patch: Path) -> None:
    """Apply a patch to a tree, and compile what it touches."""
    subprocess.run(["git", "apply", str(patch)], cwd=tree, check=True, stdin=subprocess.DEVNULL)
    if any(line.startswith("+++ ") and line.rstrip().endswith((".pyx", ".pxd")) for line in patch.read_text().splitlines()):
        execute(tree, "hatch_build.py")


def results_of(tree: Path, cases: Sequence[str], seed: int) -> list[Result]:
    """Run cases on the driver of a tree."""
    path = shlex.quote(environment(tree)["PYTHONPATH"])
    command = f"env PYTHONPATH={path} {shlex.quote(sys.executable)} -m aerowire.tools.main driver {{properties}}"
    peer: Peer = CommandPeer(command, short_timers())
    with started(peer):
        return Runner(peer, seed=seed).run(select(",".join(cases)))
