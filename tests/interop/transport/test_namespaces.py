"""Clients in mount and network namespaces of their own, which share nothing with their driver but its directory."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.interop.harness import Side, unavailable
from tests.interop.scenarios import End, Scenario, other
from tests.support.processes import Process, free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

SHARED_MEMORY = Path("/dev/shm")
# Hides all of shared memory but one directory, and runs the rest of its arguments.
ISOLATE = """
set -e
mount --bind "$0" /mnt
mount -t tmpfs none /dev/shm
mkdir -p "$0"
mount --bind /mnt "$0"
umount /mnt
exec "$@"
"""


@pytest.fixture(scope="module")
def isolation() -> list[str]:
    """The command that makes the namespaces; skips where nobody may."""
    unshare = shutil.which("unshare")
    if unshare is None:
        unavailable("no unshare on PATH")
    command = [unshare, "--mount", "--net", "--propagation", "private", *(["--map-root-user"] if os.geteuid() else [])]
    done = subprocess.run([*command, "mount", "-t", "tmpfs", "none", "/dev/shm"], capture_output=True, text=True, check=False)
    if done.returncode:
        unavailable(f"no namespaces here: {done.stderr.strip()}")
    return command


def isolated(isolation: list[str], directory: Path) -> tuple[str, ...]:
    return (*isolation, "sh", "-c", ISOLATE, str(directory))


def assert_isolated(peer: Process, directory: Path) -> None:
    """Assert that the peer has namespaces of its own, and sees of shared memory the driver's directory alone."""
    pid = peer.popen.pid
    for kind in ("net", "mnt"):
        assert Path(f"/proc/{pid}/ns/{kind}").readlink() != Path(f"/proc/self/ns/{kind}").readlink()
    root = Path(f"/proc/{pid}/root")
    seen = root / directory.relative_to("/")
    assert (seen / "cnc.dat").stat().st_ino == (directory / "cnc.dat").stat().st_ino
    above = root / SHARED_MEMORY.relative_to("/")
    while above != seen:
        (above,) = above.iterdir()
    _, *routes = Path(f"/proc/{pid}/net/route").read_text().splitlines() or [""]
    assert not routes


@pytest.mark.parametrize("publishing", ["official", "aerowire"])
@pytest.mark.parametrize("driving", ["aerowire", "official"])
@pytest.mark.parametrize("media", ["ipc", "udp"])
def test_clients_share_only_the_driver_s_directory(
    scenario: Scenario, isolation: list[str], media: str, driving: Side, publishing: Side
) -> None:
    scenario.feature(f"Clients in namespaces of their own, {media.upper()}, {driving} driver")
    driver = scenario.driver(driving)
    if not driver.directory.is_relative_to(SHARED_MEMORY):
        unavailable("no /dev/shm to hide")
    channel = "aeron:ipc" if media == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    stream = scenario.stream()
    prefix = isolated(isolation, driver.directory)
    subscriber = stream.subscribe(End(other(publishing), driver, prefix), channel)
    publisher = stream.publish(End(publishing, driver, prefix), channel)
    for peer in (subscriber, publisher):
        assert_isolated(peer, driver.directory)
    stream.compare()
    scenario.prove(driver, "pub-pos")
    scenario.prove(driver, "sub-pos")
    scenario.observed("namespaces and mounts of the clients")
    stream.finish()
    scenario.finish()
