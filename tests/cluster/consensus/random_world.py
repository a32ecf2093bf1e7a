"""A world of members drawn from a seed: a network that loses, doubles, delays and reorders, members that crash, partitions, clock steps.

After the misfortunes end, everything is healed, and the cluster has 30 simulated seconds to commit again.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import replace

from aerowire.cluster.consensus.effects import Effect, Send, StopLog
from aerowire.cluster.consensus.messages import AppendPosition, CanvassPosition, CommitPosition, Message, NewLeadershipTerm
from aerowire.cluster.consensus.options import MILLISECOND_NS, NULL_MEMBER_ID, ConsensusOptions
from aerowire.codecs.flyweights.cnc import ElectionState
from aerowire.system.random import SeededRandom
from tests.cluster.consensus.abstract_log import ENTRY_LENGTH
from tests.cluster.consensus.abstract_member import AbstractMember
from tests.cluster.consensus.checkers import PROGRESS, Checkers, ViolationError

TICK_NS = 50 * MILLISECOND_NS
HEALED_NS = 30_000 * MILLISECOND_NS
OPTIONS = ConsensusOptions(
    leader_heartbeat_timeout_ns=600 * MILLISECOND_NS,
    leader_heartbeat_interval_ns=100 * MILLISECOND_NS,
    startup_canvass_timeout_ns=1_200 * MILLISECOND_NS,
    election_timeout_ns=400 * MILLISECOND_NS,
    election_status_interval_ns=50 * MILLISECOND_NS,
)


class RandomWorld:
    """One seed's world."""

    def __init__(self, seed: int) -> None:
        """Draw the size, the network and the misfortunes."""
        draw = random.Random(seed)
        self.draw = draw
        self.now_ns = 0
        self.sent = 0  # messages, those that were lost included
        self.trace: list[str] | None = None
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self._sessions = 0
        self._values = 0
        count = draw.choice((1, 2, 3, 3, 3, 3, 5, 5))
        self.loss = draw.choice((0.0, 0.02, 0.1, 0.3))
        self.doubling = draw.choice((0.0, 0.05, 0.2))
        self.mutation = draw.choice((0.0, 0.0, 0.02))
        self.delay_ns = draw.choice((1, 20, 100, 700)) * MILLISECOND_NS
        self.store_ns = draw.choice((0, 5, 60)) * MILLISECOND_NS
        self.pause_ns = draw.choice((150, 400, 1_000, 2_500)) * MILLISECOND_NS
        self.load = draw.choice((0.02, 0.2, 0.6))
        self.chaos_ns = draw.choice((8_000, 20_000)) * MILLISECOND_NS
        self.chunks = draw.choice((1, 3, 20))
        self._healed_value: int | None = None
        self._is_healed_offered = False
        self.cut: set[frozenset[int]] = set()
        appointed = draw.choice((-1,) * 15 + (0,))
        options = replace(OPTIONS, appointed_leader_id=appointed)
        member_ids = tuple(range(count))
        self.members = [
            AbstractMember(
                member_id,
                member_ids,
                options,
                SeededRandom(draw.getrandbits(32)),
                self,
            )
            for member_id in member_ids
        ]
        self.checkers = Checkers(self.members)
        self._offsets = [draw.randrange(TICK_NS) for _ in member_ids]

    # Surroundings

    def send(self, sender_id: int, receiver_id: int, message: Message) -> None:
        draw = self.draw
        self.sent += 1
        if (self.cut and frozenset((sender_id, receiver_id)) in self.cut) or draw.random() < self.loss:
            return
        if self.mutation and draw.random() < self.mutation:
            message = self._mutated(message)
        for _ in range(2 if draw.random() < self.doubling else 1):
            self._at(self.now_ns + draw.randrange(self.delay_ns) + 1, lambda: self._deliver(sender_id, receiver_id, message))

    def reach(self, member_id: int, other_id: int) -> AbstractMember | None:
        other = self.members[other_id]
        is_cut = frozenset((member_id, other_id)) in self.cut
        return other if other.is_up and other_id != member_id and not is_cut else None

    def next_session_id(self) -> int:
        self._sessions += 1
        return self._sessions

    def effect(self, member: AbstractMember, effect: Effect) -> None:
        if self.trace is not None and not (isinstance(effect, Send) and isinstance(effect.message, CommitPosition | AppendPosition)):
            self.trace.append(f"{self.now_ns // MILLISECOND_NS:6} {member.member_id} {effect}")
        self.checkers.effect(member, effect)

    def applied(self, member: AbstractMember, index: int) -> None:
        self.checkers.applied(member, index)

    def recorded(self, member: AbstractMember) -> None:
        self.checkers.recorded(member)

    def after(self, _: AbstractMember, effect: Effect, complete: Callable[[], None]) -> None:
        delay_ns = 0 if isinstance(effect, StopLog) else self.store_ns
        self._at(self.now_ns + (self.draw.randrange(delay_ns) + 1 if delay_ns else 0), complete)

    def chunk(self) -> int:
        return self.draw.randint(0, self.chunks)

    # Time

    @property
    def steps(self) -> int:
        """How many events there were."""
        return self._sequence - len(self._events)

    def run(self) -> None:
        """Run the seed. Raises ViolationError."""
        for member in self.members:
            self._start(member)
        self._at(self.pause_ns, self._nemesis)
        while self._next_ns() < self.chaos_ns:
            self._step()
        self._heal()
        end_ns = self.now_ns + HEALED_NS
        while self.now_ns < end_ns and not self._has_progressed():
            self._step()
        # An appointed leader whose log is behind is a cluster that cannot elect one, by what it was told.
        if not self._has_progressed() and self.members[0].options.appointed_leader_id == NULL_MEMBER_ID:
            states = ", ".join(f"{member.machine.state.name} of term {member.machine.leadership_term_id}" for member in self.members)
            raise ViolationError(PROGRESS, f"nothing committed by all in 30 s: {states}")

    def _next_ns(self) -> int:
        return self._events[0][0]

    def _step(self) -> None:
        self.now_ns, _, event = heapq.heappop(self._events)
        event()

    def _at(self, time_ns: int, event: Callable[[], None]) -> None:
        self._sequence += 1
        heapq.heappush(self._events, (time_ns, self._sequence, event))

    def _start(self, member: AbstractMember) -> None:
        member.start()
        life = member.life

        def tick() -> None:
            if member.is_up and member.life == life:
                member.tick()
                self.checkers.ticked(member)
                self._load(member)
                self._at(self.now_ns + TICK_NS, tick)

        self._at(self.now_ns + self._offsets[member.member_id], tick)

    def _deliver(self, sender_id: int, receiver_id: int, message: Message) -> None:
        member = self.members[receiver_id]
        if member.is_up and not (self.cut and frozenset((sender_id, receiver_id)) in self.cut):
            self.checkers.heard(member, sender_id)
            member.receive(message)

    def _load(self, member: AbstractMember) -> None:
        if self._healed_value is not None:
            if not self._is_healed_offered and self._is_calm() and member.offer(self._healed_value):
                self._is_healed_offered = True
        elif self.draw.random() < self.load:
            self._offer(member)
        if member.applied_position and self.draw.random() < 0.01:
            member.disk.snapshot_position = member.machine.log_position if member.applied_position >= member.machine.log_position else 0

    def _offer(self, member: AbstractMember) -> None:
        if member.is_leader:
            self._values += 1
            member.offer(self._values)

    # Misfortunes

    def _nemesis(self) -> None:
        """Do harm, and come again."""
        if self._healed_value is not None:
            return
        draw = self.draw
        twice = (self._crash_some, self._split, self._isolate_leader, self._mend)
        harm = draw.choice((*twice, *twice, self._close_one, self._crash_all, self._step_clock))
        harm()
        self._at(self.now_ns + draw.randrange(self.pause_ns) + self.pause_ns // 4, self._nemesis)

    def _crash_some(self) -> None:
        for member in self.draw.sample(self.members, self.draw.randint(1, (len(self.members) + 1) // 2)):
            self._crash(member)

    def _crash_all(self) -> None:
        for member in self.members:
            self._crash(member)

    def _close_one(self) -> None:
        leader = next((member for member in self.members if member.is_leader), self.draw.choice(self.members))
        if leader.is_up:
            leader.close()
            self._restart_later(leader)

    def _split(self) -> None:
        """Part members into two sides, and let all leaders append."""
        self.cut.clear()
        sides = [self.draw.random() < 0.5 for _ in self.members]
        self.cut.update(frozenset((one, other)) for one in range(len(sides)) for other in range(one) if sides[one] != sides[other])
        self._burst()

    def _isolate_leader(self) -> None:
        """Cut a leader off from some or all members, with entries that nobody else has."""
        leaders = [member for member in self.members if member.is_leader]
        if leaders:
            leader = self.draw.choice(leaders)
            kept = self.draw.choice((0.0, 0.0, 0.3))
            self.cut.update(frozenset((leader.member_id, other.member_id)) for other in self.members if self.draw.random() >= kept)
            self._burst()

    def _burst(self) -> None:
        for member in self.members:
            for _ in range(self.draw.randint(1, 5)):
                self._offer(member)

    def _mend(self) -> None:
        self.cut.clear()

    def _step_clock(self) -> None:
        """Set a member's clock forward or back: back, the machine's time stands still until it has come again."""
        if len(self.members) > 1:
            member = self.draw.choice(self.members)
            member.clock_offset_ns += self.draw.randint(-800, 800) * MILLISECOND_NS

    def _crash(self, member: AbstractMember) -> None:
        if member.is_up:
            member.crash()
            self._restart_later(member)

    def _restart_later(self, member: AbstractMember) -> None:
        life = member.life

        def restart() -> None:
            if not member.is_up and member.life == life:
                self._start(member)

        self._at(self.now_ns + self.draw.choice((10, 100, 400, 1_500)) * MILLISECOND_NS, restart)

    def _heal(self) -> None:
        self.cut.clear()
        self.loss = self.doubling = self.mutation = 0.0
        self.delay_ns = min(self.delay_ns, 20 * MILLISECOND_NS)
        self.chunks = 20
        self._healed_value = 1_000_000_000
        for member in self.members:
            if not member.is_up:
                self._start(member)

    def _is_calm(self) -> bool:
        return all(member.is_up and member.machine.state is ElectionState.CLOSED for member in self.members)

    def _has_progressed(self) -> bool:
        return self._is_healed_offered and all(self._has_applied_healed(member) for member in self.members)

    def _has_applied_healed(self, member: AbstractMember) -> bool:
        """Whether a member's services have consumed the value that was offered after the healing."""
        log = member.disk.log
        index = next((index for index in range(len(log) - 1, -1, -1) if log[index].value == self._healed_value), None)
        return index is not None and member.applied_position > index * ENTRY_LENGTH

    def _mutated(self, message: Message) -> Message:
        """Return a message with a value that the rules accept, but that claims less, or is no member's."""
        draw = self.draw
        match message:
            case CanvassPosition():
                return replace(message, follower_member_id=draw.choice((-7, 99, message.follower_member_id)), protocol_version=None)
            case NewLeadershipTerm():
                return (
                    replace(message, commit_position=-1, is_startup=True) if draw.random() < 0.5 else replace(message, leader_member_id=77)
                )
            case AppendPosition():
                return replace(message, log_position=-5) if draw.random() < 0.5 else replace(message, follower_member_id=2**31 - 1)
            case CommitPosition():
                return replace(message, log_position=max(0, message.log_position - 32), leader_member_id=message.leader_member_id)
        return message
