"""Conversations as text files: commands, under each a line of dashes and its full expected output, an empty line behind it.

With AEROWIRE_REWRITE=1 in the environment, the output is written into the files instead: to be read before it is kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

IS_REWRITTEN = os.environ.get("AEROWIRE_REWRITE") == "1"
DASHES = "----"


def replayed(text: str, execute: Callable[[str], str]) -> Iterator[str]:
    """Yield the lines of a conversation, with the output that its commands have now. A line that begins with # is a comment."""
    lines = iter(text.splitlines())
    for line in lines:
        yield line
        if line and not line.startswith("#"):
            yield DASHES
            yield from execute(line).splitlines()
            yield ""
            for expected in lines:
                if not expected:
                    break


def check_conversation(path: Path, execute: Callable[[str], str]) -> None:
    """Carry a file's commands out, and compare their output with the file's."""
    text = path.read_text()
    now = "\n".join(replayed(text, execute)).rstrip() + "\n"
    if IS_REWRITTEN:
        path.write_text(now)
    assert now == text or IS_REWRITTEN
