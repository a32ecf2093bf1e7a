"""A driver, its client and an archive's agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.client import Aeron
from aerowire.driver import Context, MediaDriver
from aerowire.system.file_system import FileSystem
from tests.archive.agents.archive_host import ArchiveHost
from tests.support.native_modules import compiled


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aeron]:
    """A client of a driver that all tests of a file share."""
    directory = str(tmp_path_factory.mktemp("driver") / "aeron")
    context = Context(aeron_dir=directory, threading_mode="SHARED", publication_linger_timeout_ns="0ms", image_liveness_timeout_ns="500ms")
    with MediaDriver.launch(context), Aeron.connect(aeron_dir=directory) as connected:
        yield connected


@pytest.fixture(scope="module")
def application(client: Aeron) -> Iterator[Aeron]:
    """A second client of that driver."""
    with Aeron.connect(aeron_dir=client.context.aeron_dir) as connected:
        yield connected


@pytest.fixture
def archives(client: Aeron, application: Aeron, tmp_path: Path) -> Iterator[Callable[..., ArchiveHost]]:
    """Make agents, at the test's directory unless another is given; options are those of ArchiveHost."""
    made: list[ArchiveHost] = []

    def make(directory: Path | str = tmp_path, **options: Any) -> ArchiveHost:
        made.append(ArchiveHost(client, directory, application=application, **options))
        return made[-1]

    yield make
    for host in made:
        host.close()


@pytest.fixture
def archive(archives: Callable[..., ArchiveHost]) -> ArchiveHost:
    """Agents at an empty directory."""
    return archives()


@pytest.fixture(scope="session")
def scripted_files() -> Any:
    """The module `scripted_files.pyx`."""
    return compiled(Path(__file__).with_name("scripted_files.pyx"))


@pytest.fixture
def files(scripted_files: Any) -> Any:
    """The machine's files, of which a test says what goes wrong."""
    return scripted_files.ScriptedFiles(FileSystem())
