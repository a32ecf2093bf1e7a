"""Ports for channels that leave theirs open, from a range that the operator allows. Aeron: WildcardPortManager."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from aerowire.base.errors import ConfigurationError, PortInUseError
from aerowire.base.socket_address import SocketAddress

_PORT_MAX = 65535


@dataclass(slots=True)
class WildcardPorts:
    """Hands out the ports of `low`..`high` in turn; without a range (0, 0) the system chooses.

    Invariant: `_in_use` counts how often each port was taken and not given back; several addresses may have the same.
    """

    low: int
    high: int
    _in_use: Counter[int] = field(default_factory=Counter)
    _next: int = 0

    @classmethod
    def parse(cls, option: str, text: str | None) -> WildcardPorts:
        """Parse `"low high"`; None or empty means no range."""
        if not text:
            return cls(0, 0)
        parts = text.split()
        if len(parts) == 2 and all(part.isdecimal() for part in parts):
            low, high = int(parts[0]), int(parts[1])
            if low <= high <= _PORT_MAX:
                return cls(low, high)
        raise ConfigurationError(
            "a port range is malformed", where=option, expected=f'"low high" within 0 to {_PORT_MAX}', actual=repr(text)
        )

    def take(self, address: SocketAddress) -> SocketAddress:
        """Return `address` with a port of the range if it has none; raises PortInUseError when all are taken."""
        if self.high == 0:
            return address
        taken = address if address.port != 0 else address.with_port(self._find_free())
        self._in_use[taken.port] += 1
        return taken

    def give_back(self, port: int) -> None:
        """Undo one `take` of `port`; harmless for a port that the system chose."""
        self._in_use[port] -= 1
        if self._in_use[port] <= 0:
            del self._in_use[port]

    def _find_free(self) -> int:
        count = self.high - self.low + 1
        start = self._next if self.low <= self._next <= self.high else self.low
        for step in range(count):
            port = self.low + (start - self.low + step) % count
            if port not in self._in_use:
                self._next = port + 1
                return port
        raise PortInUseError(
            "no port of the wildcard range is free", where=f"{self.low} to {self.high}", expected="a free port", actual=f"{count} in use"
        )
