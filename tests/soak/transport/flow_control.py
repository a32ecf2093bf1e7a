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
from typing import TYPE_CHECKING

import numpy as np

from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.simulation.host import SimulatedHost
from aerowire.simulation.world import SimulatedWorld
from tests.soak.bars import Part, Size
from tests.support.stream_client import StreamClient

if TYPE_CHECKING:
    from aerowire.base.ports import ClockPort
    from aerowire.client import Image

SEEDS = {Size.FULL: tuple(range(1, 11)), Size.SMALL: (14,)}
MESSAGES = {Size.FULL: 2_000_000, Size.SMALL: 60_000}  # enough for some losses

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
MESSAGES_AT_ONCE = 1024
BATCH = 256

# With its header a frame of 64 bytes: a number, the number scrambled by the seed, and the rest.
MESSAGE = np.dtype([("number", "<u8"), ("scrambled", "<u8"), ("padding", "V16")])
MESSAGE_LENGTH = MESSAGE.itemsize
SCRAMBLE = 0x9E3779B97F4A7C15

OPTIONS = {
    "environ": {},
    "term_buffer_length": TERM_LENGTH,
    "image_liveness_timeout_ns": "600ms",
    "publication_connection_timeout_ns": "600ms",
    "nak_multicast_max_backoff_ns": "2ms",
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


class Sender(StreamClient):
    """Publishes messages that tell their number."""

    def __init__(self, host: SimulatedHost, messages: int, seed: int) -> None:
        self.messages = messages
        self.sent = 0
        numbers = np.arange(messages, dtype="<u8")
        rows = np.zeros((messages, MESSAGE_LENGTH), dtype=np.uint8)
        rows[:, :8] = numbers.view(np.uint8).reshape(-1, 8)
        rows[:, 8:16] = scrambled(numbers, seed).view(np.uint8).reshape(-1, 8)
        self._rows = rows
        super().__init__(host)

    def work_on_streams(self) -> int:
        if self.publication is None:
            return 0
        before = self.sent
        while self.sent < self.messages:
            count = self.publication.offer_many(self._rows[self.sent : self.sent + BATCH])
            if count <= 0:
                break
            self.sent += count
        return self.sent - before


class Receiver(StreamClient):
    """Takes what comes, and checks that it is the stream from wherever it joined."""

    def __init__(self, host: SimulatedHost, clock: ClockPort, seed: int) -> None:
        self.seed = seed
        self.taken = 0
        self.images = 0
        self.next_number: int | None = None
        self.first_number: int | None = None
        self.stalled_until_ns = 0
        self._clock = clock
        self._rows = np.zeros(MESSAGES_AT_ONCE, dtype=MESSAGE)
        super().__init__(host, available_image_handler=self._on_image)

    def work_on_streams(self) -> int:
        if self.subscription is None or self.subscription.is_closed or self._clock.now_ns() < self.stalled_until_ns:
            return 0
        count = self.subscription.poll_into(self._rows)
        if count:
            self._check(self._rows["number"][:count], self._rows["scrambled"][:count])
        return count

    def _on_image(self, _image: Image) -> None:
        self.images += 1
        self.next_number = None

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

    def __init__(self, strategy: Strategy, messages: int, seed: int) -> None:
        self.strategy = strategy
        self.seed = seed
        self.dice = random.Random(seed)
        self.world = SimulatedWorld(seed=seed)
        self.events: Counter[str] = Counter()
        self.wanderers: list[Receiver] = []
        self.sender = Sender(self._host(1), messages, seed)
        self.anchor = self._receiver(2)
        self.anchor.subscribe(CHANNEL + strategy.anchor)
        self._next_address = 3
        self.sender.publish(f"{CHANNEL}|fc={strategy.fc}")

    def run(self) -> None:
        """Let everything happen until the last message is sent, and the anchor of a strategy that waits for it has taken it."""
        begun = self.world.clock.now_ns()
        limit_ns = begun + 10 * SECOND + self.sender.messages * LIMIT_NS_PER_MESSAGE
        assert self.world.run(5 * SECOND, until=lambda: self.anchor.has_image), "nobody joined"
        self.world.network.set_faults(loss=LOSS, latency_ns=LATENCY_NS, jitter_ns=JITTER_NS)
        while not self._is_done():
            assert self.world.clock.now_ns() < limit_ns, f"held up: {self.sender.sent:,} of {self.sender.messages:,} messages are sent"
            self._something_happens()
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
        receiver.subscribe(CHANNEL + self.dice.choice(self.strategy.wanderers))
        self.wanderers.append(receiver)

    def _leave(self) -> None:
        # Its driver stays until the next of its kind dies, to tell the sender that it has gone.
        receiver = self.dice.choice(self.wanderers)
        if receiver.is_asking:
            return
        if receiver.subscription is not None and not receiver.subscription.is_closed:
            receiver.subscription.close()
        else:
            receiver.subscribe(CHANNEL + self.dice.choice(self.strategy.wanderers))

    def _die(self) -> None:
        receiver = self.dice.choice(self.wanderers)
        self.wanderers.remove(receiver)
        receiver.host.lose_power()

    def _stall(self) -> None:
        receiver = self.dice.choice([self.anchor, *self.wanderers] if self.strategy.waits else self.wanderers or [self.anchor])
        receiver.stalled_until_ns = self.world.clock.now_ns() + self.dice.randrange(STALL_NS_MAX)

    def _receiver(self, number: int) -> Receiver:
        return Receiver(self._host(number), self.world.clock, self.seed)

    def _host(self, number: int) -> SimulatedHost:
        return self.world.add_host(f"10.0.{number // 250}.{number % 250}", **OPTIONS)


def scrambled(numbers: np.ndarray, seed: int) -> np.ndarray:
    """Return what a message says beside its number."""
    return (numbers + np.uint64(seed)) * np.uint64(SCRAMBLE)


def run(size: Size, strategy: Strategy, seed: int, _scratch: Path) -> str:
    messages = MESSAGES[size]
    group = Group(strategy, messages, seed)
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
