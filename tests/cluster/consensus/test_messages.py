"""Messages that no member can have sent."""

from __future__ import annotations

import pytest

from aerowire.cluster.consensus.messages import (
    AppendPosition,
    CanvassPosition,
    CatchupPosition,
    CommitPosition,
    Message,
    RequestVote,
    StopCatchup,
    TerminationPosition,
    Vote,
    flaw_of,
    sender_of,
)


@pytest.mark.parametrize(
    ("message", "flaw"),
    [
        (CanvassPosition(-1, 0, -1, 2), None),
        (CanvassPosition(-1, -1, -1, 2), "CanvassPosition.log_position=-1 is less than 0"),
        (CanvassPosition(-2, 0, -1, 2), "CanvassPosition.log_leadership_term_id=-2 is less than -1"),
        (RequestVote(-1, 0, 0, 2, protocol_version=None), None),
        (RequestVote(-1, 0, -1, 2), "RequestVote.candidate_term_id=-1 is less than 0"),
        (AppendPosition(-1, 0, 2), "AppendPosition.leadership_term_id=-1 is less than 0"),
        (CommitPosition(0, -(2**63), 1), f"CommitPosition.log_position={-(2**63)} is less than 0"),
        (CatchupPosition(0, 0, -3, "a:1"), "CatchupPosition.follower_member_id=-3 is less than 0"),
    ],
)
def test_negative_numbers_are_flaws_but_where_they_stand_for_none(message: Message, flaw: str | None) -> None:
    assert flaw_of(message) == flaw


@pytest.mark.parametrize(
    ("message", "sender_id"),
    [
        (Vote(1, 0, 0, 7, 3, vote=True), 3),
        (RequestVote(0, 0, 1, 4), 4),
        (CommitPosition(0, 0, 5), 5),
        (StopCatchup(0, 6), -1),
        (TerminationPosition(0, 6), -1),
    ],
)
def test_a_message_tells_its_sender(message: Message, sender_id: int) -> None:
    assert sender_of(message) == sender_id
