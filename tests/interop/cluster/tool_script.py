"""Commands for official classes that read and change the files of cluster members, and for the official tool: ClusterFiles.java."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.interop.harness import Java


class Script:
    """Commands for the official classes, and the outcome of each: its output, and whether it was refused."""

    def __init__(self, java: Java, folder: Path) -> None:
        self._java, self._folder = java, folder
        self._lines: list[str] = []

    def add(self, *words: object) -> int:
        """Append a command; return its number."""
        self._lines.append(" ".join(map(str, words)))
        return len(self._lines) - 1

    def run(self, properties: Mapping[str, str] | None = None) -> list[tuple[str, bool]]:
        """Run the commands in one virtual machine."""
        path = self._folder / "script.txt"
        path.write_text("\n".join(self._lines) + "\n")
        text = self._java.run_tool("io.aeron.cluster.ClusterFiles", self._folder, str(path), properties=properties)
        parts = re.split(r"^== (ok|refused.*)\n", text, flags=re.MULTILINE)
        return [(said, how != "ok") for said, how in zip(parts[::2], parts[1::2], strict=False)]
