"""A driver, its client and an archive's agents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.client import Aeron
from aerowire.driver import Context, MediaDriver
from tests.archive.agents.archive_host import ArchiveHost


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aeron]:
    """A client of a driver that all tests of a file share."""
    directory = str(tmp_path_factory.mktemp("driver") / "aeron")
    context = Context(aeron_dir=directory, threading_mode="SHARED", publication_linger_timeout_ns="0ms", image_liveness_timeout_ns="500ms")
    with MediaDriver.launch(context), Aeron.connect(aeron_dir=directory) as connected:
        yield connected


@pytest.fixture
def archive(client: Aeron, tmp_path: Path) -> Iterator[ArchiveHost]:
    """Agents at an empty directory."""
    host = ArchiveHost(client, tmp_path)
    yield host
    host.close()
