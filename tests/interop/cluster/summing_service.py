"""A service that takes messages by batches, and whose state is an object."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aerowire.client import Image
from aerowire.cluster.services import Cluster, ClusteredService, MessageBatch


@dataclass
class Sums:
    """The state of a batching service: sums over the numbers at the beginning of messages."""

    count: int = 0
    total: int = 0
    last: int = -1


class SummingService(ClusteredService):
    """Adds up the numbers of messages by batches."""

    state_types = (Sums,)

    def __init__(self) -> None:
        self.sums = Sums()
        self.restored: Sums | None = None
        self.batches = 0

    def on_start(self, cluster: Cluster, snapshot_image: Image | None) -> None:
        assert snapshot_image is None
        self.cluster = cluster

    def on_batch(self, batch: MessageBatch) -> None:
        self.batches += 1
        data, sums = batch.data, self.sums
        numbers = data[batch.offsets[:, None] + np.arange(8)].copy().view("<i8")[:, 0]
        assert (np.diff(numbers) == 1).all()
        assert numbers[0] == sums.last + 1
        assert (batch.lengths == 8 + numbers % 200).all()
        assert (np.diff(batch.positions) > 0).all()
        assert batch.positions[-1] == self.cluster.log_position
        self.sums = Sums(sums.count + len(batch), sums.total + int(numbers.sum()), int(numbers[-1]))

    def snapshot_state(self) -> Sums:
        return self.sums

    def restore_state(self, state: Sums) -> None:
        self.sums = self.restored = state


def sums_to(count: int) -> Sums:
    """Return the state after `count` messages, numbered from 0."""
    return Sums(count, count * (count - 1) // 2, count - 1)
