"""Two million messages through each flow-control strategy of groups, while receivers join, leave, stall and die at random.

The drivers are whole and the network loses datagrams; time is virtual, so that a seed tells everything. What every receiver takes is
contiguous and unchanged within an image, whatever happens to the others; the anchor, whom min and tagged wait for, takes all of it; and
the sender comes to its end, held up by nobody longer than the strategy lets it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.logbuffer.log import LogBuffers
from aerowire.simulation.world import SimulatedHost, SimulatedWorld
from tests.soak.bars import Part, Size
from tests.support.simulated_client import SimulatedClient

SEEDS = {Size.FULL: tuple(range(1, 11)), Size.SMALL: (11,)}
MESSAGES = {Size.FULL: 2_000_000, Size.SMALL: 30_000}

MS = 1_000_000
SECOND = 1_000_000_000
CHANNEL = "aeron:udp?endpoint=224.71.31.1:40456|interface=10.0.0.0/24"
TERM_LENGTH = 64 * 1024
TAG = 4711
RECEIVER_TIMEOUT_NS = 300 * MS
STALL_NS_MAX = 400 * MS
# Everybody but the anchor; each is met by something every so often.
WANDERERS = 4
EVENT_NS_MAX = 40 * MS
LOSS = 0.002
LATENCY_NS = 500_000
JITTER_NS = 100_000
# Virtual time in which a strategy that waits for nobody in vain sends a message of the full size; a held-up sender needs far more.
LIMIT_NS_PER_MESSAGE = 400_000
FRAMES_AT_ONCE = 1024
BATCH = 256

# A frame of 64 bytes: its header and a message of a number, the number scrambled by the seed, and the rest of both.
FRAME = np.dtype([("length", "<i4"), ("rest", "V28"), ("number", "<u8"), ("scrambled", "<u8"), ("padding", "V16")])
MESSAGE_LENGTH = FRAME.itemsize - 32
SCRAMBLE = 0x9E3779B97F4A7C15

OPTIONS = {
    "environ": {},
    "term_buffer_length": TERM_LENGTH,
    "image_liveness_timeout_ns": "600ms",
    "publication_connection_timeout_ns": "600ms",
    "nak_multicast_max_backoff_ns": "2ms",
    "client_liveness_timeout_ns": "600s",
    "publication_unblock_timeout_ns": "700s",
    "timer_interval_ns": "100ms",
    "counters_free_to_reuse_timeout_ns": 0,
}


@dataclass(frozen=True)
class Strategy:
    """A strategy as publication and anchor ask for it; whether a receiver is counted depends on what it says behind the channel."""

    name: str
    fc: str
    anchor: str = ""
    wanderers: tuple[str, ...] = ("",)
    waits: bool = True


STRATEGIES = (
    Strategy("max", "max", waits=False),
    Strategy("min", f"min,g:/1,t:{RECEIVER_TIMEOUT_NS}ns"),
    Strategy("tagged", f"tagged,g:{TAG}/1,t:{RECEIVER_TIMEOUT_NS}ns", anchor=f"|gtag={TAG}", wanderers=("", f"|gtag={TAG}", "|gtag=1")),
)


class Sender(SimulatedClient):
    """Publishes messages that tell their number."""

    def __init__(self, host: SimulatedHost, messages: int, seed: int) -> None:
        super().__init__(host)
        self.messages = messages
        self.sent = 0
        numbers = np.arange(messages, dtype="<u8")
        rows = np.zeros((messages, MESSAGE_LENGTH), dtype=np.uint8)
        rows[:, :8] = numbers.view(np.uint8).reshape(-1, 8)
        rows[:, 8:16] = scrambled(numbers, seed).view(np.uint8).reshape(-1, 8)
        self._rows = rows

    def work(self) -> int:
        done = self.poll_responses()
        while self.appender is not None and self.sent < self.messages and self.appender.window > 0:
            room = -(-self.appender.window // FRAME.itemsize)
            _, count = self.appender.append_many(self._rows[self.sent : self.sent + min(room, BATCH)])
            self.sent += count
            done += count
            if count == 0:
                break
        return done


class Receiver(SimulatedClient):
    """Takes what comes, and checks that it is the stream from wherever it joined."""

    def __init__(self, host: SimulatedHost, seed: int) -> None:
        super().__init__(host)
        self.seed = seed
        self.registration_id = -1
        self.taken = 0
        self.images = 0
        self.next_number: int | None = None
        self.first_number: int | None = None
        self.stalled_until_ns = 0
        self._terms: list[np.ndarray] = []

    def on_image(self) -> None:
        assert self.image is not None
        self.images += 1
        self.next_number = None
        self._terms = terms_of(self.image)

    def work(self, now_ns: int) -> int:
        done = self.poll_responses()
        if self.image is None or now_ns < self.stalled_until_ns:
            return done
        position = self.counters.value(self.position_id)
        offset = position % TERM_LENGTH // FRAME.itemsize
        frames = self._terms[position // TERM_LENGTH % 3][offset : offset + FRAMES_AT_ONCE]
        gaps = np.flatnonzero(frames["length"] <= 0)
        count = int(gaps[0]) if gaps.size else len(frames)
        if count:
            self._check(frames["number"][:count], frames["scrambled"][:count])
            self.counters.set_value(self.position_id, position + count * FRAME.itemsize)
        return done + count

    def _check(self, numbers: np.ndarray, found: np.ndarray) -> None:
        first = int(numbers[0])
        assert self.next_number is None or first == self.next_number, f"message {first} follows {self.next_number}"
        assert np.array_equal(numbers, np.arange(first, first + len(numbers), dtype="<u8")), f"not contiguous behind message {first}"
        assert np.array_equal(found, scrambled(numbers, self.seed)), f"changed behind message {first}"
        if self.first_number is None:
            self.first_number = first
        self.next_number = first + len(numbers)
        self.taken += len(numbers)


class Group:
    """One sender, an anchor that stays and receivers that come and go."""

    def __init__(self, directory: Path, strategy: Strategy, messages: int, seed: int) -> None:
        self.strategy = strategy
        self.seed = seed
        self.dice = random.Random(seed)
        self.world = SimulatedWorld(directory, seed=seed)
        self.events: Counter[str] = Counter()
        self.wanderers: list[Receiver] = []
        self.sender = Sender(self._host(1), messages, seed)
        self.anchor = self._receiver(2)
        self.anchor.subscribe(CHANNEL + strategy.anchor)
        self.world.add_actor(self.sender.work)
        self.world.add_actor(self._work_receivers)
        self._next_address = 3
        self.publication_id = self.sender.publish(f"{CHANNEL}|fc={strategy.fc}")

    def run(self) -> None:
        """Let everything happen until the last message is sent, and the anchor of a strategy that waits for it has taken it."""
        begun = self.world.clock.now_ns()
        limit_ns = begun + 10 * SECOND + self.sender.messages * LIMIT_NS_PER_MESSAGE
        assert self.world.run(5 * SECOND, until=lambda: self.anchor.image is not None), "nobody joined"
        self.world.network.set_faults(loss=LOSS, latency_ns=LATENCY_NS, jitter_ns=JITTER_NS)
        while not self._is_done():
            assert self.world.clock.now_ns() < limit_ns, f"held up: {self.sender.sent:,} of {self.sender.messages:,} messages are sent"
            self._something_happens()
            for client in (self.sender, self.anchor, *self.wanderers):
                client.keep_alive()
            self.world.run(self.dice.randrange(1, EVENT_NS_MAX), until=self._is_done)

    def receivers_counted(self) -> int | None:
        """Return what fc-receivers shows, None when the strategy has no such counter."""
        for info in self.sender.counters.for_each():
            if info.type_id == CounterType.FC_RECEIVERS:
                return self.sender.counters.value(info.counter_id)
        return None

    def _is_done(self) -> bool:
        is_taken = not self.strategy.waits or self.anchor.taken == self.sender.messages
        return self.sender.sent == self.sender.messages and is_taken

    def _something_happens(self) -> None:
        choices: list[tuple[str, Callable[[], None]]] = [("stall", self._stall)]
        if len(self.wanderers) < WANDERERS:
            choices.append(("join", self._join))
        if self.wanderers:
            choices += [("leave", self._leave), ("die", self._die), ("stall", self._stall)]
        name, happen = self.dice.choice(choices)
        self.events[name] += 1
        happen()

    def _join(self) -> None:
        receiver = self._receiver(self._next_address)
        self._next_address += 1
        receiver.registration_id = receiver.subscribe(CHANNEL + self.dice.choice(self.strategy.wanderers))
        self.wanderers.append(receiver)

    def _leave(self) -> None:
        # Its driver stays until the next of its kind dies, to tell the sender that it has gone.
        receiver = self.dice.choice(self.wanderers)
        if receiver.registration_id >= 0:
            receiver.unsubscribe(receiver.registration_id)
            receiver.registration_id = -1
        else:
            receiver.registration_id = receiver.subscribe(CHANNEL + self.dice.choice(self.strategy.wanderers))

    def _die(self) -> None:
        receiver = self.dice.choice(self.wanderers)
        self.wanderers.remove(receiver)
        receiver.host.kill()

    def _stall(self) -> None:
        receiver = self.dice.choice([self.anchor, *self.wanderers] if self.strategy.waits else self.wanderers or [self.anchor])
        receiver.stalled_until_ns = self.world.clock.now_ns() + self.dice.randrange(STALL_NS_MAX)

    def _work_receivers(self) -> int:
        now_ns = self.world.clock.now_ns()
        return self.anchor.work(now_ns) + sum(receiver.work(now_ns) for receiver in self.wanderers)

    def _receiver(self, number: int) -> Receiver:
        return Receiver(self._host(number), self.seed)

    def _host(self, number: int) -> SimulatedHost:
        return self.world.add_host(f"10.0.{number // 250}.{number % 250}", **OPTIONS)


def scrambled(numbers: np.ndarray, seed: int) -> np.ndarray:
    """Return what a message says beside its number."""
    return (numbers + np.uint64(seed)) * np.uint64(SCRAMBLE)


def terms_of(image: LogBuffers) -> list[np.ndarray]:
    return [np.frombuffer(image.term_view(index), dtype=FRAME) for index in range(3)]


def run(size: Size, strategy: Strategy, seed: int, scratch: Path) -> str:
    messages = MESSAGES[size]
    directory = scratch / f"{strategy.name}-{seed}"
    directory.mkdir(parents=True)
    group = Group(directory, strategy, messages, seed)
    try:
        group.run()
        counted = group.receivers_counted()
        assert (counted is not None) == strategy.waits
        assert group.sender.errors == []
        if strategy.waits:
            assert (group.anchor.first_number, group.anchor.images) == (0, 1)
            assert counted is not None
            assert 1 <= counted <= 1 + WANDERERS
        naks = group.sender.counters.value(SystemCounter.NAK_MESSAGES_RECEIVED)
        resent = group.sender.counters.value(SystemCounter.RETRANSMITS_SENT)
        assert naks > 0
        assert resent > 0
        seconds = (group.world.clock.now_ns()) / SECOND
        events = ", ".join(f"{count} {name}" for name, count in sorted(group.events.items()))
        return f"{messages:,} messages in {seconds:.1f} virtual s; {events}; {naks:,} NAKs, {resent:,} retransmits"
    finally:
        group.world.close()


def parts(size: Size) -> list[Part]:
    return [
        Part(f"{strategy.name}-seed-{seed}", seed, partial(run, size, strategy, seed)) for strategy in STRATEGIES for seed in SEEDS[size]
    ]
