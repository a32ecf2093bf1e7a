"""Official clients of clusters in one process, which carries out a test's orders: ClusterClients.java."""

from __future__ import annotations

from typing import Any

from tests.interop.harness import Bench, Driver
from tests.interop.scenarios import LIMIT_S

EGRESS = "aeron:udp?endpoint=127.0.0.1:0"


class OfficialClients:
    """The process. Events of its clients are kept until they are asked for."""

    def __init__(self, bench: Bench, driver: Driver) -> None:
        self._process = bench.workshop.start("official clients", bench.java.command("ClusterClients", f"dir={driver.directory}"))
        self._kept: list[dict[str, Any]] = []

    def connect(self, name: str, *, ingress: str = "aeron:udp?term-length=64k", egress: str = EGRESS, **options: object) -> dict[str, Any]:
        """Connect a client; return its state, or the refusal."""
        given = {"ingress": ingress, "egress": egress, **options}
        self._order(f"connect {name} {' '.join(f'{key}={value}' for key, value in given.items())}")
        return self.event(name, "state", "refused")

    def echo(self, name: str, count: int, seed: int) -> dict[str, Any]:
        """Send messages of random length, of which each must come back in order; return how many there were, in how many terms."""
        self._order(f"echo {name} {count} {seed}")
        return self.event(name, "echoed")

    def ask(self, name: str, text: str) -> str:
        """Send a short message, and return the service's answer."""
        self._order(f"say {name} {text}")
        answer: str = self.event(name, "message")["text"]
        return answer

    def say(self, name: str, text: str) -> None:
        """Send a short message."""
        self._order(f"say {name} {text}")

    def request_snapshot(self, name: str, correlation_id: int) -> dict[str, Any]:
        """Ask the cluster for a snapshot; return the answer."""
        self._order(f"admin {name} {correlation_id}")
        return self.event(name, "admin")

    def silence(self, name: str) -> None:
        """Let a client send no keep-alives any more."""
        self._order(f"silence {name}")

    def state(self, name: str) -> dict[str, Any]:
        """Return the state of a client."""
        self._order(f"state {name}")
        return self.event(name, "state")

    def close(self, *names: str) -> None:
        """Close clients."""
        for name in names:
            self._order(f"close {name}")

    def event(self, name: str, *kinds: str) -> dict[str, Any]:
        """Return the next event of a client that is of one of these kinds."""
        while True:
            for found in self._kept:
                if found.get("client") == name and found["event"] in kinds:
                    self._kept.remove(found)
                    return found
            self._kept.append(self._process.result(LIMIT_S))

    def finish(self) -> None:
        """Close all clients, and end the process."""
        assert self._process.finish() == 0, self._process.said()

    def _order(self, text: str) -> None:
        """Give an order; events on the way to its end are kept."""
        assert self._process.popen.stdin is not None
        self._process.popen.stdin.write(f"{text}\n".encode())
        self._process.popen.stdin.flush()
        while (found := self._process.result(LIMIT_S))["event"] != "obeyed":
            self._kept.append(found)
