"""Conversations of members, which are text files with their full expected output.

With AEROWIRE_REWRITE=1 in the environment, the output is written into the files instead: to be read before it is kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.consensus.checkers import STATE_MACHINE_SAFETY, ViolationError
from tests.cluster.consensus.conversation import Conversation
from tests.cluster.consensus.faults import official_log_term_not_asked

FILES = sorted((Path(__file__).parent / "conversations").glob("*.txt"))
IS_REWRITTEN = os.environ.get("AEROWIRE_REWRITE") == "1"
DASHES = "----"


def replayed(text: str) -> Iterator[str]:
    """Yield the lines of a conversation, with the output that its commands have now."""
    conversation = Conversation()
    lines = iter(text.splitlines())
    for line in lines:
        yield line
        if line and not line.startswith("#"):
            yield DASHES
            yield from conversation.execute(line).splitlines()
            yield ""
            for expected in lines:
                if not expected:
                    break


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_members_converse_as_written(path: Path) -> None:
    text = path.read_text()
    now = "\n".join(replayed(text)).rstrip() + "\n"
    if IS_REWRITTEN:
        path.write_text(now)
    assert now == text or IS_REWRITTEN


def test_a_follower_that_does_not_ask_applies_what_the_leader_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    official_log_term_not_asked(monkeypatch)
    path = next(path for path in FILES if path.stem == "log_term_the_leader_never_had")
    with pytest.raises(ViolationError, match=STATE_MACHINE_SAFETY):
        list(replayed(path.read_text()))


def test_there_are_conversations() -> None:
    assert len(FILES) >= 15
