"""Unpacks archives of tests/data on every supported Python."""

from __future__ import annotations

import tarfile
from pathlib import Path


def unpack(archive: Path, folder: Path) -> None:
    """Extract a tar archive into a folder. Python has extraction filters from 3.11.4 on; Debian 12 has 3.11.2."""
    with tarfile.open(archive) as file:
        if hasattr(tarfile, "data_filter"):
            file.extractall(folder, filter="data")
        else:
            file.extractall(folder)
