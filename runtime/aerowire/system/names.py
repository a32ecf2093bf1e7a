"""Names of hosts, as the operating system knows them."""

from __future__ import annotations

import socket
from typing import Protocol


class NameResolver(Protocol):
    """Turns a host name into a numeric address, or None when it is unknown. May block: call it off the agents."""

    def __call__(self, host: str, /) -> str | None: ...


def resolve_with_system(host: str, /) -> str | None:
    """Ask the operating system; IPv4 addresses come first, as the official drivers prefer them."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        return None
    addresses = [str(item[4][0]) for item in sorted(found, key=lambda item: item[0] != socket.AF_INET)]
    return addresses[0].partition("%")[0] if addresses else None
