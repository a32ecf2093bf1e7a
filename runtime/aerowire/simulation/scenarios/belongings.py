"""What a host and its driver have: counters, files, ports, mappings and locks, at the start of the driver and without any client."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.simulation.host import SimulatedHost


class Belongings:
    """What is there when a driver has just started. `left` compares it with what is there later."""

    def __init__(self, host: SimulatedHost) -> None:
        self._host = host
        self._own = {kind: Counter(found) for kind, found in _found(host).items()}

    def left(self) -> dict[str, list[str]]:
        """Return, by kind, what is there besides."""
        left = self._besides()
        if left["mappings"]:
            gc.collect()  # objects that refer to each other keep their mappings until then
            left = self._besides()
        return left

    def _besides(self) -> dict[str, list[str]]:
        return {kind: sorted((Counter(found) - self._own[kind]).elements()) for kind, found in _found(self._host).items()}


def _found(host: SimulatedHost) -> dict[str, Iterable[str]]:
    return {
        "counters": host.counters_left(),
        "files": host.disk.paths(),
        "ports": [f"{address}:{port}" for address, port in host.driver_process.addresses],
        "mappings": host.mapped_by_driver(),
        "locks": host.disk.locked(),
    }
