"""Services whose replays are compared: one that is deterministic, and others that are not."""

from __future__ import annotations

import datetime
import random
import time
from typing import Any

from aerowire.cluster.services import ClientSession, Cluster, ClusteredService


class Sound(ClusteredService):
    """Uses every way out of a service, and follows from its log alone."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}

    def on_start(self, cluster: Cluster, _snapshot_image: Any) -> None:
        self.cluster = cluster

    def on_session_message(self, session: ClientSession | None, message: bytes, at: int) -> None:
        word = message.decode()
        self.words[word] = self.words.get(word, 0) + 1
        if session is None:
            return
        self.answer(session, word, at)
        if word == "timer":
            self.cluster.schedule_timer(7, at + 100)
            self.cluster.cancel_timer(8)
        elif word == "all":
            self.cluster.offer(b"to all")
        elif word == "close":
            session.close()
        elif word == "claim":
            with session.try_claim(5) as claim:
                claim.put_bytes(b"claim")
        elif word == "raise":
            raise ValueError(f"at {id(self)}")

    def on_timer_event(self, correlation_id: int, at: int) -> None:
        self.cluster.schedule_timer(correlation_id + 1, at + 1)

    def answer(self, session: ClientSession, word: str, at: int) -> None:
        session.offer(f"{word} {self.words[word]} at {at}".encode())

    def snapshot_state(self) -> dict[str, int]:
        return dict(self.words)

    def restore_state(self, state: dict[str, int]) -> None:
        self.words = state


class OverASet(Sound):
    def answer(self, session: ClientSession, _word: str, _at: int) -> None:
        session.offer(",".join({"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"}).encode())


class ByTheClock(Sound):
    def answer(self, session: ClientSession, _word: str, _at: int) -> None:
        session.offer(str(int(time.time()) // 86_400).encode())


class ByChance(Sound):
    def answer(self, session: ClientSession, _word: str, _at: int) -> None:
        session.offer(random.randbytes(8))


class ByAddress(Sound):
    def answer(self, session: ClientSession, _word: str, _at: int) -> None:
        session.offer(str(id(self)).encode())


class KeepsTheClock(Sound):
    """Sends nothing that differs; its state does."""

    def snapshot_state(self) -> dict[str, int]:
        return {"day": datetime.datetime.now(datetime.UTC).toordinal()}


class Exits(Sound):
    def answer(self, _session: ClientSession, _word: str, _at: int) -> None:
        raise SystemExit(3)
