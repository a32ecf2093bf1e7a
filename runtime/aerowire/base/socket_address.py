"""Addresses of sockets as the control plane has them: resolved, and as text."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SocketAddress:
    """A resolved address: `host` is numeric text, `scope_id` the interface index of a link-local IPv6 address."""

    host: str
    port: int
    scope_id: int = 0

    @property
    def ip(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
        return ipaddress.ip_address(self.host)

    @property
    def is_ipv6(self) -> bool:
        return ":" in self.host

    @property
    def is_multicast(self) -> bool:
        return self.ip.is_multicast

    @property
    def is_any(self) -> bool:
        return self.ip.is_unspecified

    @property
    def native(self) -> tuple[str, int, int, int]:
        """The form that native code takes."""
        return self.host, self.port, 0, self.scope_id

    def with_port(self, port: int) -> SocketAddress:
        """Return the same host with another port."""
        return SocketAddress(self.host, port, self.scope_id)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if self.is_ipv6 else f"{self.host}:{self.port}"


ANY_IPV4 = SocketAddress("0.0.0.0", 0)
ANY_IPV6 = SocketAddress("::", 0)
