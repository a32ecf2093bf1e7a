"""The vectors of the codecs are what the official classes write."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from tests.interop.harness import Java
from tests.interop.sbe.vectors import official_vectors

pytestmark = pytest.mark.interop


def stored(name: str) -> list[str]:
    """Return the lines of a file of vectors, behind the one that says where they came from."""
    lines = (files("aerowire.conformance") / "vectors" / name).read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("#")
    return lines[1:]


@pytest.mark.parametrize(("name", "what"), [("frames_and_commands.tsv", "frames"), ("files.tsv", "files")])
def test_vectors_are_what_the_official_classes_write(name: str, what: str, java: Java, tmp_path: Path) -> None:
    assert stored(name) == java.run_tool("Vectors", tmp_path, what).splitlines()


def test_vectors_of_messages_are_what_the_official_encoders_write(java: Java) -> None:
    assert stored("archive_and_cluster.tsv") == official_vectors(java)
