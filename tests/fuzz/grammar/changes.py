"""What an application does between hostile datagrams: streams and destinations that go and come, images that are rejected, counters.

A change is a step of the sequence, with the seed of its choices as payload, so that a recorded sequence repeats it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from aerowire.base.errors import RegistrationError
from aerowire.client import Counter
from aerowire.conformance.accepted.steps import Step

if TYPE_CHECKING:
    from tests.fuzz.grammar.episode import Episode

APPLICATION = "application"
# Datagrams from one change to the next, on average.
EVERY = 300
SEED_LENGTH = 8
COUNTER_TYPE = 1_234
COUNTERS_MAX = 8


def with_changes(steps: Iterable[Step], seed: str) -> Iterator[Step]:
    """Yield the steps, and changes between them."""
    dice = random.Random(seed)
    for step in steps:
        yield step
        if dice.randrange(EVERY) == 0:
            yield Step(APPLICATION, 0, "change", dice.randbytes(SEED_LENGTH))


class Changes:
    """Carries out changes; one that the driver refuses, as it may, is made up for by a later one."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._counters: list[Counter] = []
        self.refused = 0

    def apply(self, step: Step) -> None:
        """Change one thing."""
        dice = random.Random(step.payload)
        change = dice.choice((self._renew_subscription, self._renew_publication, self._reject, self._move_destination, self._count))
        try:
            change(dice)
        except RegistrationError:
            self.refused += 1

    def _renew_subscription(self, dice: random.Random) -> None:
        self._episode.renew_reader(dice.randrange(len(self._episode.readers)))

    def _renew_publication(self, dice: random.Random) -> None:
        number = dice.randrange(len(self._episode.publications))
        publication = self._episode.publications[number]
        if not publication.is_closed and dice.random() < 0.5:
            publication.revoke()
        self._episode.renew_publication(number)

    def _reject(self, dice: random.Random) -> None:
        images = [image for reader in self._episode.readers for image in reader.subscription.images]
        if images:
            dice.choice(images).reject("x" * dice.choice((0, 1, 40, 1_023)))

    def _move_destination(self, dice: random.Random) -> None:
        handle, channels = dice.choice((self._episode.listed, self._episode.paths))()
        if not handle.is_closed:
            channel = dice.choice(channels)
            handle.remove_destination(channel)
            handle.add_destination(channel)

    def _count(self, dice: random.Random) -> None:
        if len(self._counters) == COUNTERS_MAX:
            self._counters.pop(dice.randrange(COUNTERS_MAX)).close()
        self._counters.append(self._episode.world.aeron.add_counter(COUNTER_TYPE, f"changes {dice.randrange(100)}"))


def is_change(step: Step) -> bool:
    """Whether a step is for the application and not for the network."""
    return step.target == APPLICATION
