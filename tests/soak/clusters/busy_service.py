"""A service that echoes, and computes for as long as a message says, in one call."""

from __future__ import annotations

import ctypes
import time
from enum import Enum

from aerowire.client import Image
from aerowire.cluster.services import ClientSession, Cluster, ClusteredService
from aerowire.codecs.flyweights.cnc import ClusterRole


class Computation(Enum):
    """How a service spends its time: in a C call that keeps the interpreter's lock, or in a loop of Python."""

    LOCK = "lock"
    LOOP = "loop"


def computation(kind: Computation, where: str, seconds: float) -> bytes:
    """Return the message that asks for it, at the "leader" or at "all" members."""
    return f"compute {kind.value} {where} {seconds}".encode()


class BusyService(ClusteredService):
    """Answers each message with itself once it has done what that says."""

    def on_start(self, cluster: Cluster, _snapshot_image: Image | None) -> None:
        self._cluster = cluster

    def on_session_message(self, session: ClientSession | None, message: bytes, _at: int) -> None:
        if message.startswith(b"compute"):
            _, kind, where, seconds = message.decode().split()
            if where == "all" or self._cluster.role is ClusterRole.LEADER:
                compute(Computation(kind), float(seconds))
        if session is not None:
            while session.offer(message) < 0:
                self._cluster.idle_strategy.idle()


def compute(kind: Computation, seconds: float) -> None:
    """Compute for so long."""
    if kind is Computation.LOCK:
        ctypes.PyDLL(None).usleep(int(seconds * 1e6))  # a PyDLL keeps the lock
        return
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(10_000))
