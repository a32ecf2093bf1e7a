"""The case that machines seldom carry, on one made for it: a network of its own in which loopback carries IPv6 multicast."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

SET_UP = "ip link set lo up && ip -6 route add local ff00::/8 dev lo table local"


def in_own_network(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a network with nothing but loopback, and that set up for IPv6 multicast."""
    return subprocess.run(["unshare", "-rn", "sh", "-c", f"{SET_UP} && {command}"], capture_output=True, text=True, check=False)


@pytest.mark.skipif(not (shutil.which("unshare") and shutil.which("ip")), reason="no unshare or no ip command")
def test_driver_keeps_the_rule_of_ipv6_groups() -> None:
    if in_own_network("true").returncode:
        pytest.skip("this system does not let a user make a network of his own")
    done = in_own_network(f"exec {sys.executable} -m aerowire.conformance.main run --case U02 --json")
    assert done.returncode == 0, done.stderr
    assert [result["verdict"] for result in json.loads(done.stdout)["results"]] == ["pass"]
