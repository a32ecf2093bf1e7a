"""Conversations of members, which are text files with their full expected output (tests/support/conversations.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.consensus.checkers import STATE_MACHINE_SAFETY, ViolationError
from tests.cluster.consensus.conversation import Conversation
from tests.cluster.consensus.faults import official_log_term_not_asked
from tests.support.conversations import check_conversation, replayed

FILES = sorted((Path(__file__).parent / "conversations").glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_members_converse_as_written(path: Path) -> None:
    check_conversation(path, Conversation().execute)


def test_a_follower_that_does_not_ask_applies_what_the_leader_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    official_log_term_not_asked(monkeypatch)
    path = next(path for path in FILES if path.stem == "log_term_the_leader_never_had")
    with pytest.raises(ViolationError, match=STATE_MACHINE_SAFETY):
        list(replayed(path.read_text(), Conversation().execute))


def test_there_are_conversations() -> None:
    assert len(FILES) >= 15
