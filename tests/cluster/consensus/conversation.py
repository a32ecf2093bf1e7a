"""Conversations of members as text: commands, and under each the full output of states and effects that it causes.

    # A comment. A block is a command, a line of dashes, and its output; an empty line ends it.
    members 3
    ----
    started: 0 1 2

| command | what it does |
|---|---|
| `members N [appointed=ID]` | make N members with empty disks and start them |
| `tick ID,..\\|all TIME` | let time pass, then tick the members |
| `deliver A->B` / `deliver all` | deliver what waits from one member to another; or all, and what follows from that |
| `drop A->B` / `drop ID` | lose what waits from one member to another; or to and from a member |
| `run TIME` | tick all members each 50 ms and deliver all messages, which are not shown |
| `crash ID` / `close ID` / `restart ID` | end a member, without or with the end of its log's stream; start it from its disk |
| `isolate ID` / `mend` | lose everything to and from a member from now on; or nothing more |
| `hold ID EFFECT` / `release ID` | keep an effect from being carried out; carry it out |
| `fail ID EFFECT REASON` | let the next effect of a kind fail |
| `offer ID COUNT` | append to a leader's log |
| `nominate ID FRACTION` | choose the random part of the member's nominations |
| `write ID term=BASE[..END] .. entries=TERMxCOUNT .. [candidate=TERM]` | replace the disk of a member that is down |
| `receive ID MESSAGE field=value ..` | give a member a message |
| `state` | tell the state of each member |
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import fields, replace
from enum import Enum

from aerowire.base.ports import RandomPort
from aerowire.cluster.consensus import messages
from aerowire.cluster.consensus.effects import Effect, Send
from aerowire.cluster.consensus.inputs import EffectFailed, TermEntry
from aerowire.cluster.consensus.messages import Message
from aerowire.cluster.consensus.options import MILLISECOND_NS, ConsensusOptions
from aerowire.cluster.consensus.term_table import TermTable
from tests.cluster.consensus.abstract_log import Disk, append
from tests.cluster.consensus.abstract_member import AbstractMember
from tests.cluster.consensus.checkers import Checkers

OPTIONS = ConsensusOptions(
    leader_heartbeat_timeout_ns=1_000 * MILLISECOND_NS,
    leader_heartbeat_interval_ns=200 * MILLISECOND_NS,
    startup_canvass_timeout_ns=2_000 * MILLISECOND_NS,
    election_timeout_ns=500 * MILLISECOND_NS,
    election_status_interval_ns=100 * MILLISECOND_NS,
)
RUN_TICK_NS = 50 * MILLISECOND_NS
SHORT = {
    "log_leadership_term_id": "log_term",
    "next_leadership_term_id": "next_term",
    "next_term_base_log_position": "next_base",
    "next_log_position": "next_end",
    "leadership_term_id": "term",
    "term_base_log_position": "base",
    "log_position": "position",
    "candidate_term_id": "candidate_term",
    "candidate_member_id": "candidate",
    "follower_member_id": "follower",
    "leader_member_id": "leader",
    "leader_recording_id": "recording",
    "log_session_id": "session",
    "commit_position": "commit",
    "catchup_endpoint": "endpoint",
    "protocol_version": "version",
}
LONG = {short: name for name, short in SHORT.items()}
UNTOLD = {"timestamp", "app_version", "protocol_version", "flags", "is_startup", "is_leader_startup"}


class ChosenRandom(RandomPort):
    """Random fractions that a conversation chooses."""

    fraction = 0.0

    def double(self) -> float:
        """Return the chosen fraction."""
        return self.fraction


def told(value: object) -> str:
    """Return an effect or a message in one line."""
    parts = [type(value).__name__]
    for each in fields(value):  # type: ignore[arg-type]
        content = getattr(value, each.name)
        if isinstance(content, Enum):
            parts.append(content.name)
        elif isinstance(content, str):
            parts += [repr(content)] if content else []
        elif each.name not in UNTOLD or (each.name == "flags" and content):
            name = SHORT.get(each.name, each.name)
            parts.append(f"{name}={str(content).lower() if isinstance(content, bool) else content}")
    return " ".join(parts)


class Conversation:
    """Members, and the messages between them that wait to be delivered."""

    def __init__(self) -> None:
        """Start without members."""
        self.now_ns = 0
        self.members: list[AbstractMember] = []
        self._randoms: list[ChosenRandom] = []
        self._queues: dict[tuple[int, int], deque[Message]] = {}
        self._output: list[str] = []
        self._are_messages_told = True
        self._isolated: set[int] = set()
        self._held: dict[int, str] = {}
        self._waiting: list[tuple[int, Callable[[], None]]] = []
        self._failing: dict[tuple[int, str], str] = {}
        self._sessions = 100
        self._values = 0
        self._checkers = Checkers()

    def execute(self, line: str) -> str:
        """Carry a command out; return its output."""
        self._output = []
        command, *arguments = line.split()
        getattr(self, f"_do_{command}")(*arguments)
        return "\n".join(self._output) or "ok"

    # Surroundings of members

    def send(self, sender_id: int, receiver_id: int, message: Message) -> None:
        if not {sender_id, receiver_id} & self._isolated:
            self._queues.setdefault((sender_id, receiver_id), deque()).append(message)

    def reach(self, member_id: int, other_id: int) -> AbstractMember | None:
        other = self.members[other_id]
        return other if other.is_up and other_id != member_id and not {member_id, other_id} & self._isolated else None

    def next_session_id(self) -> int:
        self._sessions += 1
        return self._sessions

    def effect(self, member: AbstractMember, effect: Effect) -> None:
        self._checkers.effect(member, effect)
        if not isinstance(effect, Send):
            self._output.append(f"{member.member_id} {told(effect)}")
        elif self._are_messages_told:
            self._output.append(f"{member.member_id} -> {effect.member_id} {told(effect.message)}")

    def applied(self, member: AbstractMember, index: int) -> None:
        self._checkers.applied(member, index)

    def recorded(self, member: AbstractMember) -> None:
        self._checkers.recorded(member)

    def after(self, member: AbstractMember, effect: Effect, complete: Callable[[], None]) -> None:
        name = type(effect).__name__
        reason = self._failing.pop((member.member_id, name), None)
        if reason is not None:
            member.give(EffectFailed(reason))
        elif self._held.get(member.member_id) == name:
            self._waiting.append((member.member_id, complete))
        else:
            complete()

    def chunk(self) -> int:
        return 1_000

    # Commands

    def _do_members(self, count: str, *options: str) -> None:
        given = dict(option.split("=") for option in options)
        chosen = replace(OPTIONS, appointed_leader_id=int(given.get("appointed", -1)))
        ids = tuple(range(int(count)))
        self._randoms = [ChosenRandom() for _ in ids]
        self.members = [AbstractMember(member_id, ids, chosen, self._randoms[member_id], self) for member_id in ids]

    def _do_start(self, *ids: str) -> None:
        for member_id in ids:
            self.members[int(member_id)].start()

    _do_restart = _do_start

    def _do_tick(self, ids: str, time: str) -> None:
        self.now_ns += _time_ns(time)
        for member in self.members:
            if member.is_up and (ids == "all" or str(member.member_id) in ids.split(",")):
                member.tick()

    def _do_deliver(self, pair: str) -> None:
        if pair != "all":
            sender_id, receiver_id = map(int, pair.split("->"))
            self._deliver(self._queues.pop((sender_id, receiver_id), deque()), receiver_id)
            return
        while self._queues:
            key = min(self._queues)
            self._deliver(self._queues.pop(key), key[1])

    def _deliver(self, queue: deque[Message], receiver_id: int) -> None:
        for message in queue:
            if self.members[receiver_id].is_up:
                self.members[receiver_id].receive(message)

    def _do_drop(self, what: str) -> None:
        for key in list(self._queues):
            if what in {"->".join(map(str, key)), *map(str, key)}:
                del self._queues[key]

    def _do_run(self, time: str) -> None:
        self._are_messages_told = False
        end_ns = self.now_ns + _time_ns(time)
        while self.now_ns < end_ns:
            self._do_tick("all", "50ms")
            self._do_deliver("all")
        self._are_messages_told = True

    def _do_crash(self, member_id: str) -> None:
        self.members[int(member_id)].crash()
        self._waiting = [(waiting_id, complete) for waiting_id, complete in self._waiting if waiting_id != int(member_id)]
        self._held.pop(int(member_id), None)
        self._do_drop(member_id)

    def _do_close(self, member_id: str) -> None:
        self.members[int(member_id)].close()
        self._do_drop(member_id)

    def _do_isolate(self, member_id: str) -> None:
        self._isolated.add(int(member_id))
        self._do_drop(member_id)

    def _do_mend(self) -> None:
        self._isolated.clear()

    def _do_hold(self, member_id: str, name: str) -> None:
        self._held[int(member_id)] = name

    def _do_release(self, member_id: str) -> None:
        self._held.pop(int(member_id), None)
        waiting, self._waiting = self._waiting, []
        for waiting_id, complete in waiting:
            if waiting_id == int(member_id):
                complete()
            else:
                self._waiting.append((waiting_id, complete))

    def _do_fail(self, member_id: str, name: str, *reason: str) -> None:
        self._failing[int(member_id), name] = " ".join(reason)

    def _do_offer(self, member_id: str, count: str) -> None:
        for _ in range(int(count)):
            self._values += 1
            assert self.members[int(member_id)].offer(self._values), "not a leader"

    def _do_nominate(self, member_id: str, fraction: str) -> None:
        self._randoms[int(member_id)].fraction = float(fraction)

    def _do_write(self, member_id: str, *parts: str) -> None:
        """Write a disk: `1=96..160` is a term, `entries=1x3` three entries of term 1; equal entries are equal on all disks."""
        disk = Disk(recording_id=int(member_id))
        terms = []
        for part in parts:
            name, _, value = part.partition("=")
            if name == "entries":
                term_id, count = map(int, value.split("x"))
                for _ in range(count):
                    append(disk.log, term_id, 1_000 * term_id + len(disk.log))
            elif name == "candidate":
                disk.candidate_term_id = int(value)
            else:
                base, _, end = value.partition("..")
                terms.append(TermEntry(int(name), int(base), int(end or -1)))
        disk.terms = TermTable(terms)
        self.members[int(member_id)].disk = disk

    def _do_receive(self, member_id: str, name: str, *parts: str) -> None:
        values = {LONG.get(key, key): _value(text) for key, text in (part.split("=") for part in parts)}
        message = getattr(messages, name)(**values)
        member = self.members[int(member_id)]
        before = member.machine.dropped_messages
        member.receive(message)
        if member.machine.dropped_messages > before:
            self._output.append(f"{member_id} dropped: {messages.flaw_of(message) or 'of no other member, or of no term that can be'}")

    def _do_state(self) -> None:
        for member in self.members:
            if member.is_up:
                machine = member.machine
                log_term_id = machine.log_leadership_term_id
                terms = f"term={machine.leadership_term_id} candidate_term={machine.candidate_term_id} log_term={log_term_id}"
                positions = f"log={machine.log_position} append={machine.append_position} entries={_entries(member)}"
                state = f"{machine.state.name} {machine.role.name} leader={machine.leader_id}"
                self._output.append(f"{member.member_id} {state} {terms} {positions}")
            else:
                self._output.append(f"{member.member_id} down entries={_entries(member)}")


def _entries(member: AbstractMember) -> str:
    """Return the terms of a log's entries: `0x3,2x1` for three of term 0, then one of term 2."""
    runs: list[list[int]] = []
    for entry in member.disk.log:
        if runs and runs[-1][0] == entry.term_id:
            runs[-1][1] += 1
        else:
            runs.append([entry.term_id, 1])
    return ",".join(f"{term_id}x{count}" for term_id, count in runs) or "none"


def _time_ns(text: str) -> int:
    return int(text.removesuffix("ms")) * MILLISECOND_NS if text.endswith("ms") else int(text.removesuffix("s")) * 1_000 * MILLISECOND_NS


def _value(text: str) -> int | bool | str | None:
    if text in {"true", "false", "none"}:
        return {"true": True, "false": False, "none": None}[text]
    return int(text) if text.lstrip("-").isdigit() else text
