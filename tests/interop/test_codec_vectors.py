"""The vectors of the codecs are what the official classes write."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from tests.interop.harness import Java

pytestmark = pytest.mark.interop


def test_vectors_are_what_the_official_classes_write(java: Java, tmp_path: Path) -> None:
    stored = (files("aerowire.conformance") / "vectors" / "frames_and_commands.tsv").read_text(encoding="utf-8").splitlines()
    assert stored[0].startswith("#")
    assert stored[1:] == java.run_tool("Vectors", tmp_path).splitlines()
