"""kill -9 of members of a cluster, official ones and our own, again and again, while a client sends numbers and reconnects.

A member that was killed starts again after a while. In the end all members have the same numbers, in the order in which they were sent, and
none that was answered is missing.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

from tests.interop.cluster.mixed import MixedCluster, counters_of
from tests.interop.cluster.nodes import Member
from tests.interop.cluster.number_client import NumberClient
from tests.support.processes import LIMIT_S

PAUSE_S = 4.0  # at most, between a kill and the next one that may be
ABSENCE_S = 5.0  # at most, beside the time for which an official member may not start again
# How often a member is killed though no majority is left then.
STOP_SHARE = 0.15
LOOK_S = 0.1
HEAL_S = 240.0


class Kills:
    """The members of one cluster that run, and those that were killed. Changed by all methods.

    Invariant: a member is down from its kill until its time in `_starts`.
    """

    def __init__(self, cluster: MixedCluster, client: NumberClient, rng: random.Random) -> None:
        """Begin with a cluster all of whose members run."""
        self.cluster = cluster
        self.client = client
        self.rng = rng
        self.counts: Counter[str] = Counter()
        self._starts: dict[int, float] = {}

    # Kills

    def kill_any(self) -> str:
        """Kill a member that runs, after a random time: mostly one without which a majority is left. Return which."""
        self._go_on(self.rng.uniform(0.0, PAUSE_S))
        is_free = self.rng.random() < STOP_SHARE
        majority = len(self.cluster.members) // 2 + 1
        self._until(lambda: len(self._running) > (0 if is_free else majority), "members that run")
        return self._kill(self.rng.choice(self._running), self.rng.uniform(0.0, ABSENCE_S))

    def kill_leader(self) -> str:
        """Kill the leader as soon as all other members follow it and a number was answered; return which it was."""
        answered = len(self.client.answered)
        self._until(lambda: self._leader is not None and len(self.client.answered) > answered, "a leader that all follow")
        self._go_on(self.rng.uniform(0.0, 0.5))
        leader = self._leader
        while leader is None:  # it has changed since
            self._go_on(LOOK_S)
            leader = self._leader
        return self._kill(leader, self.rng.uniform(0.0, 1.0))

    def kill_follower(self) -> str:
        """Kill one of the members that run and do not lead, which may be while they elect."""
        leader = self.cluster.find_leader(self._running)
        return self._kill(self.rng.choice([member for member in self._running if member is not leader]), self.rng.uniform(0.0, ABSENCE_S))

    def await_answers(self) -> None:
        """Wait until a number that was sent since is answered."""
        sent = self.client.sent
        self._until(lambda: max(self.client.answered, default=-1) >= sent, "an answer")

    def heal(self) -> None:
        """Start all members again, and wait until one leads, all others follow, and a number that was sent since is answered."""
        self._until(lambda: not self._starts, "the starts of all members")
        self._until(lambda: self._leader is not None, "a leader that all follow")
        self.await_answers()

    # What has to be there

    def verify(self) -> str:
        """Heal the cluster; assert that all members have the same numbers, and all that were answered; return what there was."""
        self.heal()
        client, members = self.client, self.cluster.members
        client.is_sending = False
        self._until(lambda: client.is_idle, "the last answers")
        self._until(client.ask_for_runs, "an answer to the question for all numbers")
        texts = []
        for member in members:
            assert member.process is not None
            texts.append(member.process.event("runs", LIMIT_S)["runs"])
        assert len(set(texts)) == 1, texts
        runs = [range(int(first), int(last) + 1) for first, _, last in (run.partition("-") for run in texts[0].split())]
        assert all(run.stop <= other.start for run, other in pairwise(runs)), texts[0]
        applied = {number for run in runs for number in run}
        assert client.answered <= applied, f"answered, and lost: {sorted(client.answered - applied)[:20]}"
        assert applied <= set(range(client.sent)), texts[0]
        killed = ", ".join(f"{what} {count}" for what, count in sorted(self.counts.items()))
        return (
            f"{sum(self.counts.values())} kills ({killed}), {client.client.sessions_opened} sessions; of {client.sent} numbers "
            f"{len(client.answered)} answered, all of them among the {len(applied)} that each of {len(members)} members has; "
            f"at most {client.longest_silence_s:.1f} s without an answer"
        )

    # Steps

    @property
    def _running(self) -> list[Member]:
        return [member for member in self.cluster.members if member.member_id not in self._starts]

    @property
    def _leader(self) -> Member | None:
        return None if self._starts else self.cluster.find_leader(self.cluster.members)

    def _kill(self, member: Member, absence_s: float) -> str:
        side = self.cluster.sides[member.member_id]
        leader = self.cluster.find_leader(self._running)
        member.kill()
        self._starts[member.member_id] = time.monotonic() + absence_s
        what = f"{side} {'leader' if member is leader else 'member'}"
        self.counts[what] += 1
        return f"{what} {member.member_id}, {len(self._running)} run, {len(self.client.answered)} numbers answered"

    def _go_on(self, seconds: float) -> None:
        """Let the client work for a time, and start members whose time has come."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            self._work()

    def _until(self, condition: Callable[[], object], what: str) -> None:
        deadline_s, next_s = time.monotonic() + HEAL_S, 0.0
        while True:
            now_s = time.monotonic()
            if now_s >= next_s:
                if condition():
                    return
                next_s = now_s + LOOK_S
            assert now_s < deadline_s, f"{what}: {self.client.client}, down {self._starts}, {self._states()}"
            self._work()

    def _work(self) -> None:
        self.client.work()
        now_s = time.monotonic()
        for member in self.cluster.members:
            start_s = self._starts.get(member.member_id)
            if start_s is None:
                assert member.process is not None
                assert member.process.popen.poll() is None, f"member {member.member_id} has ended by itself\n{member.process.said()}"
            elif now_s >= start_s:
                del self._starts[member.member_id]
                self.cluster.age_files(member)
                self.cluster.launch(member)

    def _states(self) -> list[str]:
        return [f"{member.member_id} {counters_of(member)} {said(member)}" for member in self.cluster.members]


def said(member: Member) -> str:
    """Return the end of what a member has said."""
    return "" if member.process is None else member.process.said()[-1500:]
