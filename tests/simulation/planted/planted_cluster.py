"""Faults planted in the cluster: each is found by seeds, of members' machines alone or of whole clusters, in a copy of the package."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path

from aerowire.simulation.scenarios.clusters import history
from tests.cluster.consensus import checkers
from tests.cluster.hunt import WORLDS
from tests.cluster.module.recovered import world as recovered
from tests.cluster.module.replicated import model, world
from tests.simulation.planted.planted_transport import Planted, first_failure
from tests.simulation.planted.planting import ROOT, apply
from tests.support.trees import environment

SEEDS_MAX = 300
PACKAGE = "runtime/aerowire/cluster"

# Elections and commits: machines without files and streams, on a network that loses and delays.
_consensus = partial(Planted, scenario="consensus", family="cluster")
# Sessions, timers, messages of services, snapshots: what the log builds, without consensus.
_replicated = partial(Planted, scenario="replicated", family="cluster")
# Votes, terms and sets of snapshots on disks that are killed or lose power, and acknowledgements of services.
_recovered = partial(Planted, scenario="recovered", family="cluster")
# Services: whole nodes.
_clusters = partial(Planted, scenario="sessions", family="cluster")
_WRONG_STATE = (model.SNAPSHOTS, world.COMES)
FAULTS = (
    _consensus("quorum-of-half", rules=(checkers.COMMITTED_BY_MAJORITY, checkers.ELECTED_BY_MAJORITY)),
    _consensus("vote-before-its-term-is-stored", rules=(checkers.STORED_BEFORE_SENT,)),
    _consensus("second-vote-in-a-term", rules=(checkers.NO_STEP_BACK, checkers.ELECTION_SAFETY)),
    _consensus("log-position-before-its-term", rules=(checkers.LEADER_COMPLETENESS,)),
    _consensus("leaders-term-not-adopted", rules=(checkers.TERM_ADOPTED,)),
    _consensus("stale-leader-followed", rules=(checkers.STALE_LEADER_REFUSED,)),
    _consensus("late-vote-counted", rules=(checkers.ELECTED_BY_MAJORITY, checkers.ELECTION_SAFETY)),
    _consensus("leader-that-closed-not-counted", rules=(checkers.ELECTED_BY_MAJORITY, checkers.ELECTION_SAFETY)),
    _consensus("leader-without-a-majority", rules=(checkers.LEADS_BY_MAJORITY,)),
    _consensus("truncation-skipped", rules=(checkers.PROGRESS, checkers.LOG_MATCHING)),
    _consensus("truncation-too-far", rules=(checkers.COMMITTED_STAYS,)),
    _consensus("truncated-term-kept", rules=(checkers.PROGRESS, checkers.LOG_MATCHING)),
    _consensus("commit-of-the-leaders-own-position", rules=(checkers.COMMITTED_BY_MAJORITY,)),
    _consensus("commit-by-positions-of-other-terms", rules=(checkers.COMMITTED_BY_MAJORITY,)),
    _consensus("commit-follows-a-silent-member-back", rules=(checkers.NO_STEP_BACK,)),
    _consensus("leaders-term-stored-too-late", rules=(checkers.COMMITTED_BY_MAJORITY,)),
    _consensus("followers-term-stored-too-late", rules=(checkers.COMMITTED_BY_MAJORITY,)),
    _consensus("replay-beyond-the-commit", rules=(checkers.COMMITTED_BEFORE_APPLIED,)),
    _replicated("session-id-taken-again", rules=(model.SESSIONS, model.SNAPSHOTS)),
    _replicated("session-ids-forgotten-by-a-snapshot", rules=(model.SESSIONS, model.SNAPSHOTS)),
    _replicated("session-that-the-log-closed-kept", rules=(model.SESSIONS, *_WRONG_STATE)),
    _replicated("session-opened-in-vain-kept", rules=(model.SESSIONS, *_WRONG_STATE)),
    _replicated("close-in-vain-forgotten", rules=_WRONG_STATE),
    _replicated("service-message-appended-again", rules=(model.ONCE, *_WRONG_STATE)),
    _replicated("service-message-of-the-log-kept", rules=(model.ONCE, *_WRONG_STATE)),
    _replicated("service-message-in-vain-forgotten", rules=(model.ONCE, *_WRONG_STATE)),
    _replicated("messages-of-one-service-loaded", rules=(model.ONCE, *_WRONG_STATE)),
    _replicated("timer-of-the-log-kept", rules=(model.TIMELY, *_WRONG_STATE)),
    _replicated("timer-of-a-late-service-again", rules=(model.TIMELY, *_WRONG_STATE)),
    _replicated("timer-in-vain-forgotten", rules=(model.TIMELY, *_WRONG_STATE)),
    _replicated("cancelled-timer-comes-back", rules=(model.TIMELY, *_WRONG_STATE)),
    _replicated("timer-a-tick-early", rules=(model.TIMELY,)),
    _replicated("timers-out-of-order", rules=(model.TIMELY,)),
    _replicated("timers-not-loaded", rules=(model.TIMELY, *_WRONG_STATE)),
    _recovered("vote-not-synced", rules=(recovered.VOTE_STAYS,)),
    _recovered("term-not-synced", rules=(recovered.TERM_STAYS,)),
    _recovered("set-not-synced", rules=(recovered.WHOLE_SET,)),
    _recovered("set-noted-from-its-end", rules=(recovered.WHOLE_SET,)),
    _recovered("snapshot-noted-at-the-commit", rules=(recovered.WHOLE_SET,)),
    _recovered("snapshots-of-services-mixed-up", rules=(recovered.WHOLE_SET,)),
    _recovered("failed-snapshot-noted", rules=(recovered.WHOLE_SET,)),
    _recovered("acknowledgements-mixed-up", rules=(recovered.ACKNOWLEDGED,)),
    _recovered("lost-snapshot-awaited", rules=(recovered.JOINED,)),
    _clusters("followers-snapshot-without-sessions", rules=(history.SNAPSHOTS,)),
)


def plant(fault: Planted, tree: Path) -> None:
    """Make a copy of the cluster's package with a fault."""
    assert not fault.is_native, f"{fault.name} would have to be compiled"
    ignored = shutil.ignore_patterns("__pycache__", "*.pyx", "*.pxd", "*.c")
    shutil.copytree(ROOT / PACKAGE, tree / PACKAGE, ignore=ignored)
    apply(fault.patch, tree)


def find(fault: Planted, tree: Path, *, seeds: int = SEEDS_MAX) -> str:
    """Run seeds on the package in a tree until one fails, and check that it fails by the fault's rule; return a line that says which."""
    numbers = f"0-{seeds - 1}"
    command = ["-m", "tests.cluster.hunt", fault.scenario, numbers]
    if fault.scenario not in WORLDS:
        command = ["-m", "aerowire.tools.main", "simulate", fault.scenario, "--seeds", numbers, "--repeat-every", "0", "--json"]
    # All but the package is that of this tree: `aerowire` is a namespace.
    variables = environment(ROOT)
    variables["PYTHONPATH"] = os.pathsep.join((str(tree / "runtime"), variables["PYTHONPATH"]))
    return first_failure(fault, command, tree, variables)
