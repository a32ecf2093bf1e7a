"""The official implementation as its users run it: with the virtual machine's second compiler, which tests between processes do without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.interop.harness import PEER_FLAGS, Java, find_java

SOURCES = Path(__file__).parent / "java"


def find_fast_java() -> Java:
    """Return the virtual machine, the jar, and the compiled peers of benchmarks/java."""
    return replace(find_java(SOURCES), flags=PEER_FLAGS)
