"""Unpacks the official driver's files once, for the folders whose conftest names this fixture."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.unpacking import unpack

ARCHIVE = Path(__file__).parents[1] / "data" / "snapshots" / "official-c-driver.tar.xz"


@pytest.fixture(scope="session")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory with the files of two official drivers and what the official tools said of them."""
    directory = tmp_path_factory.mktemp("snapshots")
    unpack(ARCHIVE, directory)
    return directory
