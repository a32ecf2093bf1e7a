"""The loopback interface's IPv6 address, where it has one."""

from __future__ import annotations

from aerowire.conformance.harness.wire import free_port
from aerowire.conformance.model import MachineLacks

LOOPBACK6 = "::1"


def need_ipv6() -> None:
    """Raise MachineLacks where loopback has no IPv6 address."""
    try:
        free_port(LOOPBACK6)
    except OSError as error:
        raise MachineLacks(f"a socket on {LOOPBACK6}", f"{error}") from None
