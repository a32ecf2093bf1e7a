"""Unpacks files of official implementations once, for the folders whose conftest names these fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.unpacking import unpack

FOLDER = Path(__file__).parents[1] / "data" / "snapshots"
ARCHIVE = FOLDER / "official-c-driver.tar.xz"
GOLDEN_ARCHIVES = FOLDER / "archive-golden.tar.xz"
GOLDEN_CLUSTERS = Path(__file__).parents[1] / "data" / "cluster" / "golden.tar.xz"
GOLDEN_NAMES = ("seg64k-orderly", "seg64k-kill", "seg128k-crc32c-orderly")


@pytest.fixture(scope="session")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory with the files of two official drivers and what the official tools said of them."""
    directory = tmp_path_factory.mktemp("snapshots")
    unpack(ARCHIVE, directory)
    return directory


@pytest.fixture(scope="session")
def golden_archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory with three directories of the official Archive, and what the official tool said of them. Tests copy what they change."""
    directory = tmp_path_factory.mktemp("archives")
    unpack(GOLDEN_ARCHIVES, directory)
    return directory / "archive"


@pytest.fixture(scope="session")
def golden_clusters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory with the directories of official cluster members, and what the official tool said of them. Tests copy what they change."""
    directory = tmp_path_factory.mktemp("clusters")
    unpack(GOLDEN_CLUSTERS, directory)
    return directory / "cluster"
