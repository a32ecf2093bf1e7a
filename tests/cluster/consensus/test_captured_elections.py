"""Captured elections of official members: the machine of one of them, given what it received, sends what it sent.

Its archive and services answer at once. What follows from the times of the captured run is left out: how often a message was repeated, and
how far an archive had recorded at a moment, which is taken from the append positions that the member told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from aerowire.cluster.consensus import effects, inputs, messages
from aerowire.cluster.consensus.machine import ConsensusMachine
from aerowire.cluster.consensus.messages import AppendPosition, CanvassPosition, CommitPosition, Message, NewLeadershipTerm, StopCatchup
from aerowire.cluster.consensus.options import MILLISECOND_NS, ConsensusOptions
from aerowire.codecs.flyweights.cnc import ClusterRole, ElectionState
from tests.cluster.consensus.conversation import ChosenRandom

DATA = Path(__file__).parents[2] / "data" / "cluster" / "consensus"
OPTIONS = ConsensusOptions(
    leader_heartbeat_timeout_ns=1_000 * MILLISECOND_NS,
    leader_heartbeat_interval_ns=200 * MILLISECOND_NS,
    startup_canvass_timeout_ns=3_000 * MILLISECOND_NS,
    election_timeout_ns=250 * MILLISECOND_NS,
    election_status_interval_ns=100 * MILLISECOND_NS,
    app_version=1,
)
MEMBER_IDS = (0, 1, 2)
EVENT_LENGTH = 96  # of NewLeadershipTermEvent, with its frame
RESTART_MS = 13_000.0  # between the two lives of member 1 in catchup.jsonl
Sent = tuple[int, Message]
CANVASS = CanvassPosition(-1, 0, -1, 0)


def captured(name: str) -> list[tuple[float, int, int, Message]]:
    """Return time, receiver, session and message of a capture."""
    rows = []
    for line in (DATA / f"{name}.jsonl").read_text().splitlines():
        row = json.loads(line)
        kind = getattr(messages, row.pop("message"))
        rows.append((row.pop("ms"), row.pop("to"), row.pop("session"), kind(**row)))
    return rows


def without_time(message: Message) -> Message:
    """Return a message as it would be at any time."""
    return replace(message, timestamp=0) if isinstance(message, NewLeadershipTerm) else message


def once(sent: Iterator[Sent], member_id: int) -> list[Message]:
    """Return the messages to a member, without those that repeat the one before."""
    kept: list[Message] = []
    for receiver_id, message in sent:
        if receiver_id == member_id and without_time(message) not in kept[-1:]:
            kept.append(without_time(message))
    return kept


class CapturedMember:
    """The machine of one member, whose effects succeed at once."""

    def __init__(
        self, member_id: int, facts: inputs.RecoveryFacts, log_session_id: int, recorded: list[tuple[float, int]], *, is_first: bool
    ) -> None:
        """`recorded` is how far the archive had recorded when."""
        random = ChosenRandom()
        random.fraction = 0.0 if is_first else 0.99
        self.machine = ConsensusMachine(member_id, MEMBER_IDS, OPTIONS, random, facts)
        self.sent: list[Sent] = []
        self._log_session_id = log_session_id
        self._recorded = recorded
        self._append_position = facts.append_position
        self._commit_position = 0
        self._now_ns = 0

    def run(self, start_ms: float, end_ms: float, received: list[tuple[float, Message]]) -> None:
        """Tick each millisecond; give the messages, and what is recorded, in their times."""
        self._now_ns = int(start_ms * MILLISECOND_NS)
        self._carry_out(self.machine.start(self._now_ns))
        waiting = list(received)
        while self._now_ns < end_ms * MILLISECOND_NS:
            self._carry_out(self.machine.tick(self._now_ns))
            self._now_ns += MILLISECOND_NS
            while waiting and waiting[0][0] * MILLISECOND_NS <= self._now_ns:
                self._carry_out(self.machine.handle(self._now_ns, waiting.pop(0)[1]))
            while self._recorded and self._recorded[0][0] * MILLISECOND_NS <= self._now_ns:
                self._record(self._recorded.pop(0)[1])

    def _record(self, position: int) -> None:
        self._append_position = max(self._append_position, position)
        is_leader = self.machine.role is ClusterRole.LEADER
        self._give(inputs.LogRecorded(self._append_position, self._append_position if is_leader else -1))
        self._give(inputs.LogConsumed(min(self._commit_position, self._append_position)))
        self._carry_out(self.machine.tick(self._now_ns))

    def _give(self, result: inputs.Result) -> None:
        self._carry_out(self.machine.handle(self._now_ns, result))

    def _carry_out(self, given: tuple[effects.Effect, ...]) -> None:
        for effect in given:
            if isinstance(effect, effects.Send):
                self.sent.append((effect.member_id, effect.message))
                continue
            result = self._result(effect)
            if result is not None:
                self._give(result)

    def _result(self, effect: effects.Effect) -> inputs.Result | None:
        result: inputs.Result | None = None
        match effect:
            case effects.StoreCandidateTerm():
                result = inputs.CandidateTermStored(effect.candidate_term_id)
            case effects.StoreTerm():
                result = inputs.TermStored(effect.leadership_term_id)
            case effects.AddLogPublication():
                result = inputs.LogPublicationAdded(self._log_session_id)
            case effects.JoinLogAsLeader() | effects.JoinLogAsFollower():
                result = inputs.LogJoined(effect.position, 0, 64 * 1024)
            case effects.AppendTermEvent():
                result = inputs.TermEventAppended(EVENT_LENGTH)
            case effects.StartReplay():
                result = inputs.ReplayDone(effect.to_position)
            case effects.AddCatchupDestination():
                result = inputs.CatchupDestinationAdded(f"127.0.0.1:9{self.machine.member_id + 1}05")
            case effects.NotifyCommit():
                self._commit_position = effect.position
                result = inputs.LogConsumed(min(effect.position, self._append_position))
        return result


def replayed(
    name: str, member_id: int, *, start_ms: float = 0.0, end_ms: float, facts: inputs.RecoveryFacts
) -> tuple[list[Sent], list[Sent]]:
    """Return what the official member sent, and what the machine sends."""
    rows = [row for row in captured(name) if start_ms <= row[0] <= end_ms]
    official = [(to, message) for _, to, _, message in rows if _is_from(message, member_id, rows)]
    first_ms = next(ms for ms, _, _, message in rows if _is_from(message, member_id, rows))
    session_id = next((message.log_session_id for _, _, _, message in captured(name) if isinstance(message, NewLeadershipTerm)), 0)
    recorded = [
        (ms, message.log_position)
        for ms, _, _, message in rows
        if isinstance(message, AppendPosition) and (message.follower_member_id == member_id or _leads(name, member_id))
    ]
    member = CapturedMember(member_id, facts, session_id, recorded, is_first=_leads(name, member_id))
    member.run(first_ms, rows[-1][0], [(ms, message) for ms, to, _, message in rows if to == member_id])
    assert member.machine.state is ElectionState.CLOSED
    return official, member.sent


def _is_from(message: Message, member_id: int, rows: list[tuple[float, int, int, Message]]) -> bool:
    if isinstance(message, StopCatchup):
        return any(isinstance(each, CommitPosition) and each.leader_member_id == member_id for _, _, _, each in rows)
    return messages.sender_of(message) == member_id


def _leads(name: str, member_id: int) -> bool:
    return any(isinstance(message, NewLeadershipTerm) and message.leader_member_id == member_id for *_, message in captured(name))


def of_elections(sent: list[Sent]) -> Iterator[Sent]:
    """Yield what is not repeated each interval."""
    return ((to, message) for to, message in sent if not isinstance(message, AppendPosition | CommitPosition))


@pytest.mark.parametrize("name", ["election", "catchup"])
@pytest.mark.parametrize("member_id", MEMBER_IDS)
def test_an_election_from_empty_logs_is_sent_as_captured(name: str, member_id: int) -> None:
    official, ours = replayed(name, member_id, end_ms=3_000.0, facts=inputs.RecoveryFacts())
    assert len(official) > 10
    for receiver_id in MEMBER_IDS:
        expected = once(of_elections(official), receiver_id)
        told = once(of_elections(ours), receiver_id)
        # An official member that started last in a canvass had no connection yet by which to tell its position.
        assert told in (expected, [*told[:1], *expected])
        assert isinstance(told[0] if told else CANVASS, CanvassPosition)


@pytest.mark.parametrize(("name", "member_id"), [("election", 0), ("election", 1), ("catchup", 2)])
def test_a_follower_tells_the_positions_that_were_captured(name: str, member_id: int) -> None:
    official, ours = replayed(name, member_id, end_ms=20_000.0, facts=inputs.RecoveryFacts())
    leader_id = 2 if name == "election" else 0
    positions = [message for message in once(iter(official), leader_id) if isinstance(message, AppendPosition)]
    assert positions[-1].log_position > 1_000
    assert [message for message in once(iter(ours), leader_id) if isinstance(message, AppendPosition)] == positions


@pytest.mark.parametrize(("name", "member_id"), [("election", 2), ("catchup", 0)])
def test_a_leader_commits_what_was_captured(name: str, member_id: int) -> None:
    official, ours = replayed(name, member_id, end_ms=3_000.0, facts=inputs.RecoveryFacts())
    for receiver_id in {*MEMBER_IDS} - {member_id}:
        committed = [message.log_position for message in once(iter(official), receiver_id) if isinstance(message, CommitPosition)]
        told = [message.log_position for message in once(iter(ours), receiver_id) if isinstance(message, CommitPosition)]
        assert told[-1] == committed[-1] > 1_000
        assert told == sorted(told)
        assert set(committed) <= set(told)


def test_a_member_that_restarts_catches_up_as_captured() -> None:
    facts = inputs.RecoveryFacts((inputs.TermEntry(0, 0),), 0, 0, 1216, 0)
    official, ours = replayed("catchup", 1, start_ms=RESTART_MS, end_ms=20_000.0, facts=facts)
    assert once(of_elections(ours), 0) == once(of_elections(official), 0)
    assert [field.name for field in fields(official[0][1])] == [field.name for field in fields(messages.CanvassPosition)]
    positions = [message for message in once(iter(ours), 0) if isinstance(message, AppendPosition)]
    expected: list[Any] = [message for message in once(iter(official), 0) if isinstance(message, AppendPosition)]
    assert positions[-1] == expected[-1]
    assert [message.flags for message in positions][:1] == [message.flags for message in expected][:1]
