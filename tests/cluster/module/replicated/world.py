"""A world of members' replicated states drawn from a seed: leaders that change and lose what is not committed, services that are late,
appends whose results come later, snapshots, and members that start again. At last all comes to rest, and all members have the same.
"""

from __future__ import annotations

import random

from aerowire.cluster.sessions import inputs
from aerowire.codecs.flyweights.cluster.enums import ClusterTimeUnit
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader
from aerowire.simulation.scenarios.clusters.plan import PRIORITY_HEAP, WHEEL
from tests.cluster.consensus.checkers import ViolationError
from tests.cluster.module.replicated.member import SESSION_TIMEOUT_MS, Member
from tests.cluster.module.replicated.model import ENTRY_LENGTH, SERVICES, Entry, Model

COMES = "what services send and schedule comes, and sessions end"
_STEPS = 400
_REST_STEPS = 200


class ReplicatedWorld:
    """One seed's world: three members, one of which leads. `commit` is how many entries of the log are committed."""

    def __init__(self, seed: int) -> None:
        """Draw the timers, and how often leaders change."""
        self._draw = draw = random.Random(seed)
        timer_service = draw.choice((WHEEL, PRIORITY_HEAP))
        self.now_ms = draw.randrange(1_000_000)
        self.log: list[Entry] = []
        self.commit = 0
        self._term = -1
        self._clients = 0
        self._model = Model(are_timers_sorted=timer_service == PRIORITY_HEAP)
        self._members = [Member(member_id, self, timer_service) for member_id in range(3)]
        self._leader = self._members[0]
        changes = draw.choice((1, 3, 8))
        self._actions = [
            *30 * (self._message,),
            *30 * (self._go_on,),
            *10 * (self._connect, self._poll, self._flush, self._commit),
            *5 * (self._close, self._tick, self._pass_time),
            *changes * (self._change_leader,),
            *2 * (self._snapshot, self._start_again, self._change_room),
        ]

    def run(self) -> None:
        """Run the seed. Raises ViolationError."""
        self._change_leader()
        for _ in range(_STEPS):
            self._draw.choice(self._actions)()
        self._come_to_rest()

    def append(self, data: bytes) -> int:
        """Append a message to the leader's log; return the position behind it."""
        self.log.append(Entry(data, self.now_ms, self._term))
        return len(self.log) * ENTRY_LENGTH

    # The leader

    def _connect(self) -> None:
        self._clients += 1
        self._leader.connect(self._clients)

    def _message(self) -> None:
        open_ids = self._leader.sessions.open_ids
        if open_ids:
            header = SessionMessageHeader(leadership_term_id=self._term, cluster_session_id=self._draw.choice(open_ids), timestamp=0)
            self._leader.sessions.give(inputs.SessionActive(header.cluster_session_id, self.now_ms * 1_000_000))
            self.append(header.encode() + self._draw.getrandbits(64).to_bytes(8, "little"))

    def _close(self) -> None:
        open_ids = self._leader.sessions.open_ids
        if open_ids:
            self._leader.sessions.give(inputs.Close(self._term, self._draw.choice(open_ids)))

    def _poll(self) -> None:
        self._leader.state.append_due()

    def _flush(self) -> None:
        self._leader.publisher.flush(self._draw.randint(1, 8))

    def _tick(self) -> None:
        self._leader.sessions.tick()

    def _change_room(self) -> None:
        self._leader.publisher.has_room = self._draw.random() < 0.7

    def _commit(self) -> None:
        self._commit_to(self._draw.randint(self.commit, len(self.log)))
        self._leader.sweep()

    def _commit_to(self, count: int) -> None:
        for index in range(self.commit, count):
            self._model.commit(index, self.log[index])
        self.commit = count

    # All members

    def _pass_time(self) -> None:
        self.now_ms += self._draw.choice((1, 5, 30, 120, 400))

    def _go_on(self) -> None:
        """Let a member, or one of its services, go on by a few steps."""
        member = self._draw.choice(self._members)
        go_on, count = self._draw.choice((member.apply, member.hear, None)), self._draw.randint(1, 8)
        for _ in range(count):
            if go_on is None:
                member.read_on()
            else:
                go_on(self._draw.randrange(SERVICES))

    def _change_leader(self) -> None:
        """End the term: what is not in the log of the next leader is gone. That one has read all of it before it leads."""
        for member in self._members:
            member.end_term()
        count = self._draw.choice((self.commit, self._draw.randint(self.commit, len(self.log))))
        del self.log[count:]
        self._commit_to(count)
        self._term += 1
        self._leader = self._draw.choice(self._members)
        self._leader.settle()
        self._check(self._leader)
        for member in self._members:
            if member is not self._leader:
                member.follow(self._term, self._leader.member_id)
        self._leader.lead(self._term)
        self.append(
            NewLeadershipTermEvent(
                leadership_term_id=self._term,
                log_position=count * ENTRY_LENGTH,
                timestamp=0,
                term_base_log_position=count * ENTRY_LENGTH,
                leader_member_id=self._leader.member_id,
                log_session_id=self._term,
                time_unit=ClusterTimeUnit.MILLIS,
                app_version=0,
            ).encode()
        )

    def _start_again(self) -> None:
        """Let a member lose all but its snapshot; a leader is another one's follower then, or leads again."""
        member = self._draw.choice(self._members)
        member.start()
        if member is self._leader:
            self._change_leader()
        else:
            member.follow(self._term, self._leader.member_id)

    def _snapshot(self) -> None:
        """Let all members take a snapshot behind the last entry; some of them fail to."""
        self._leader.publisher.flush(len(self.log) + 1_000)
        self._commit_to(len(self.log))
        self._leader.sweep()
        for member in self._members:
            member.settle()
            self._check(member)
            if self._draw.random() < 0.8:
                member.take_snapshot()

    def _check(self, member: Member) -> None:
        self._model.check(member.state.state(), f"member {member.member_id}")

    # The end

    def _come_to_rest(self) -> None:
        """Let a leader append and commit all that is due, and clients be silent."""
        self._change_leader()
        for _ in range(_REST_STEPS):
            self.now_ms += 50
            self._tick()
            self._poll()
            self._leader.publisher.flush(1_000)
            self._commit_to(len(self.log))
            self._leader.sweep()
            self._leader.settle()
            if not (any(self._model.messages) or self._model.timers or self._model.sessions):
                break
        else:
            left = (self._model.messages, self._model.timers, self._model.sessions)
            raise ViolationError(COMES, f"still there after {_REST_STEPS * 50} ms, with sessions silent for {SESSION_TIMEOUT_MS}: {left}")
        for member in self._members:
            member.settle()
            self._check(member)
