"""The wheel, built once, and environments in which it is installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from tests.support.installations import Installation, build_wheel, install, install_extra


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built wheel."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Installation]:
    """Return a function from an extra, or "" for none, to an environment with it; each is made once."""
    made: dict[str, Installation] = {}

    def installation(extra: str) -> Installation:
        if extra not in made:
            folder = tmp_path_factory.mktemp(f"installed-{extra or 'bare'}")
            try:
                made[extra] = install_extra(installation(""), folder, extra) if extra else install(wheel, folder)
            except metadata.PackageNotFoundError as error:
                pytest.skip(f"the extra {extra!r} needs a package that this environment does not have: {error}")
        return made[extra]

    return installation
