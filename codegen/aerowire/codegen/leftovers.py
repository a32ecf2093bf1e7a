"""What an earlier run left in the package of a message schema, and this one does not write any more.

Only what carries the mark of generated code goes, and only what the chosen targets own: the modules of messages are the flyweights',
and what packages share (once they share it elsewhere) is that of all targets together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from aerowire.codegen.mark import MARK

BEGINNING = f"# {MARK}".encode()
MESSAGES, SUPPORT = "messages", "support"
NATIVE = "native.pyx"


def leftovers(out: Path, folder: str, files: Collection[str], *, all_targets: bool) -> list[str]:
    """Return the files below `folder` that are to go, as paths below `out`; `files` are those that are written."""
    if f"{folder}/__init__.py" not in files:
        return []
    parts = [MESSAGES]
    # Compiled codecs that are left as they are need what they were compiled with.
    if all_targets and (f"{folder}/{NATIVE}" in files or not (out / folder / NATIVE).exists()):
        parts += [SUPPORT, ""]
    return sorted(name for part in parts for name in _marked(out, f"{folder}/{part}".rstrip("/")) if name not in files)


def remove(out: Path, names: Collection[str]) -> None:
    """Remove the files, and the folders that are empty without them."""
    for name in names:
        (out / name).unlink(missing_ok=True)
    for folder in {(out / name).parent for name in names}:
        if not any(folder.iterdir()):
            folder.rmdir()


def _marked(out: Path, folder: str) -> Iterator[str]:
    for path in (out / folder).glob("*.py"):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(len(BEGINNING)) == BEGINNING:
                    yield f"{folder}/{path.name}"
