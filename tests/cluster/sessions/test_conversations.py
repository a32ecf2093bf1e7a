"""Conversations of clients with a member, which are text files with their full expected output (tests/support/conversations.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.sessions.conversation import Conversation
from tests.support.conversations import check_conversation

FILES = sorted((Path(__file__).parent / "conversations").glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_clients_and_member_converse_as_written(path: Path) -> None:
    check_conversation(path, Conversation().execute)


def test_there_are_conversations() -> None:
    assert len(FILES) >= 15
