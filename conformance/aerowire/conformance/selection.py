"""The cases of a run: of the catalogue, of scripts, of captures.

Those that are not the catalogue's come with what makes them again, for the processes that run them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from aerowire.conformance import replay_cases
from aerowire.conformance.catalogue import select
from aerowire.conformance.errors import ConformanceError
from aerowire.conformance.impairment import Impairment
from aerowire.conformance.model import Case
from aerowire.conformance.scripts import player

# Makes a case; it passes between processes.
Recipe = Callable[[], Case]


class SelectionError(ConformanceError):
    """The arguments name no run."""


def recipes_of(scripts: Sequence[Path], captures: Sequence[Path], impairment: str) -> list[Recipe]:
    """Return what makes the cases of scripts and captures. Raises SelectionError."""
    if impairment and not captures:
        raise SelectionError("--impair needs --pcap: it is for what captures are replayed through")
    try:
        network = Impairment.parse(impairment)
    except ValueError as error:
        raise SelectionError(str(error)) from None
    for path in captures:
        if not path.is_file():
            raise SelectionError(f"{path}: no such capture")
    replays = [partial(replay_cases.load, path, role, network) for path in captures for role in replay_cases.ROLES]
    return [*(partial(player.load, path) for path in scripts), *replays]


def choose(patterns: str | None, recipes: Sequence[Recipe]) -> list[Case]:
    """Return the cases of a run: those of the catalogue that are named, or all unless there are others.

    Raises SelectionError, and what the recipes raise.
    """
    cases = [] if recipes and patterns is None else select(patterns)
    cases += [recipe() for recipe in recipes]
    ids = [case.id for case in cases]
    for case_id in ids:
        if ids.count(case_id) > 1:
            raise SelectionError(f"two files make a case called {case_id}; a case is called by its file's name")
    return cases
