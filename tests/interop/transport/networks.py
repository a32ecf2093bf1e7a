"""A network of a test's own: a namespace with an interface that carries IPv6 groups, whatever those of the machine carry.

Knows how it is made and entered; knows nothing of who works in it.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

from aerowire.system.interfaces import list_interfaces
from tests.interop.harness import unavailable
from tests.support.processes import Process, Workshop

INTERFACE = "groups0"
# An address that is good at once, in a range that nobody else has (RFC 4193): what the interface gives itself is good after seconds.
ADDRESS = "fd47:1f00::1/64"
# Two ends of a wire; whoever was started by this lives until its standard input ends, and the namespace with it.
MAKE = f"""
set -e
echo 0 2>/dev/null > /proc/sys/net/ipv6/conf/all/disable_ipv6 || true
ip link set lo up
ip link add {INTERFACE} type veth peer name groups1
ip address add {ADDRESS} dev {INTERFACE} nodad
ip link set groups1 up
ip link set {INTERFACE} up
echo ready
exec cat
"""


@dataclass(frozen=True)
class Network:
    """An interface that carries IPv6 groups; `prefix` is the command that runs another where that interface is."""

    interface: str
    prefix: tuple[str, ...] = ()


def ip6_network(workshop: Workshop) -> Network:
    """Return a network of the test's own, or an interface of the machine where nobody may make networks; skip where there is neither."""
    made = make_network(workshop)
    if isinstance(made, Network):
        return made
    able = [item.name for item in list_interfaces() if ":" in item.address and item.is_up and item.supports_multicast]
    if not able:
        unavailable(f"no interface here carries IPv6 groups, and none could be made: {made}")
    return Network(able[0])


def make_network(workshop: Workshop) -> Network | str:
    """Return a network that ends with the workshop, or why there is none."""
    missing = [name for name in ("unshare", "nsenter", "ip") if shutil.which(name) is None]
    if missing:
        return f"no {', '.join(missing)} on PATH"
    is_root = os.geteuid() == 0
    holder = workshop.start("network", ["unshare", "--net", *([] if is_root else ["--map-root-user"]), "sh", "-c", MAKE])
    if not is_made(holder):
        return holder.said().strip()
    user = () if is_root else ("--user", "--preserve-credentials")
    return Network(INTERFACE, ("nsenter", f"--target={holder.popen.pid}", *user, "--net"))


def is_made(holder: Process) -> bool:
    assert holder.popen.stdout is not None
    return holder.popen.stdout.readline() == b"ready\n"
