"""A file that another process cuts short while it is mapped: an error of what used it, and nothing else ends.

Each scene runs in a process of its own, which SIGBUS would end.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import free_port

HALF = 100 << 10

SCENE = """
import contextlib, os, sys
from pathlib import Path
from aerowire.base.errors import AerowireError, ClosedError, TruncatedFileError
from aerowire.client import Aeron, FragmentAssembler
from aerowire.driver import MediaDriver
from aerowire.ipc.cnc import CncFile
from aerowire.ipc.error_log import read_errors
from tests.support.waiting import rest, wait_until as until

def poll_of(way, subscription, out):
    def take(buffer, offset, length, header):
        out.append(bytes(buffer[offset : offset + length]))
    if way == "poll":
        return lambda: subscription.poll(take)
    if way == "assembler":
        assembler = FragmentAssembler(take)
        return lambda: subscription.poll(assembler)
    if way == "poll_many":
        return lambda: out.extend([1] * len(subscription.poll_many(100))) or 0
    if way == "block":
        return lambda: subscription.block_poll(lambda *_: out.append(1), 65536)
    raise AssertionError(way)

def offer(publication, body):
    until(lambda: publication.offer(body) > 0, "no room")

directory, channel, way, folder, cut, goes_on = *sys.argv[1:5], int(sys.argv[5]), int(sys.argv[6])
errors, ended = [], []
options = {"threading_mode": "SHARED", "term_buffer_length": 65536, "ipc_term_buffer_length": 65536, "environ": {}}
with MediaDriver.launch(aeron_dir=directory, **options) as driver:
    with Aeron.connect(directory, error_handler=errors.append) as aeron, Aeron.connect(directory) as bystander:
        publication = aeron.add_publication(channel, 10)
        subscription = aeron.add_subscription(channel, 10, unavailable_image_handler=ended.append)
        other, other_sub = bystander.add_publication(channel, 11), bystander.add_subscription(channel, 11)
        out, whole = [], []
        poll = poll_of(way, subscription, out)
        other_poll = poll_of("poll", other_sub, whole)
        until(lambda: publication.is_connected and other.is_connected and subscription.images and other_sub.images, "not connected")
        for number in range(100):
            offer(publication, b"before")
            offer(other, b"%d" % number)
        until(lambda: poll() >= 0 and len(out) > 0, "nothing arrives")
        image = subscription.images[0]
        names = {"publications": publication.original_registration_id, "images": image.correlation_id}
        path = Path(directory) / folder / f"{names[folder]}.logbuffer"
        os.truncate(path, cut)
        def use():
            with contextlib.suppress(TruncatedFileError, ClosedError):
                poll()
                if goes_on:
                    publication.offer(b"after")
            rest()

        until(lambda: errors, "the client is not told", work=use)
        (error,) = errors
        assert isinstance(error, TruncatedFileError) and str(path) in str(error), error
        if folder == "images":
            assert ended == [image] and image.is_closed
            until(lambda: poll() == 0 or True, "the subscription has ended")
        else:
            try:
                publication.offer(b"after")
                raise AssertionError("the publication goes on")
            except TruncatedFileError as error:
                assert str(path) in str(error), error
        for number in range(100, 2000):
            offer(other, b"%d" % number)
            other_poll()
        until(lambda: other_poll() >= 0 and len(whole) == 2000, "the other stream is not whole")
        assert whole == [b"%d" % number for number in range(2000)]
        fresh = aeron.add_publication("aeron:ipc", 12)
        assert fresh.offer(b"") in (-1, -2)
        again = aeron.add_publication(channel, 10)
        assert not again.is_closed
        with CncFile.map(Path(directory) / "cnc.dat", writable=False) as cnc:
            until(lambda: any(str(path) in error.text for error in read_errors(cnc.error_log_buffer)), "the driver has not noticed")
print("alive")
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    parent = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="aw-cut-", dir=parent))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def play(scene: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", scene, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("transport", "which", "cut", "way", "goes_on"),
    [
        *(("ipc", "publications", 4096, way, 1) for way in ("poll", "assembler", "poll_many", "block")),
        ("udp", "publications", 0, "poll", 1),
        ("udp", "images", 0, "poll", 1),
        # Where nothing is sent any more no access to a lost page tells: one byte leaves a page of zeros, more leaves whole pages.
        *(("udp", which, cut, "poll", 0) for which in ("publications", "images") for cut in (0, 1, 4096, HALF)),
        ("udp", "images", 1, "poll", 1),
        ("ipc", "publications", 1, "poll", 0),
    ],
)
def test_a_log_that_is_cut_short_ends_its_own_handles_only(
    folder: Path, transport: str, which: str, cut: int, way: str, goes_on: int
) -> None:
    channel = "aeron:ipc" if transport == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    scene = play(SCENE, folder / "driver", channel, way, which, cut, goes_on)
    assert (scene.returncode, scene.stdout, scene.stderr) == (0, "alive\n", "")


CNC_SCENE = """
import os, sys
from aerowire.base.errors import TruncatedFileError
from aerowire.client import Aeron
from aerowire.driver import MediaDriver
from tests.support.waiting import wait_until
errors = []
driver = MediaDriver.launch(aeron_dir=sys.argv[1], threading_mode="DEDICATED", environ={})
aeron = Aeron.connect(sys.argv[1], error_handler=errors.append)
publication = aeron.add_publication("aeron:ipc", 10)
os.truncate(sys.argv[1] + "/cnc.dat", int(sys.argv[2]))
assert driver.wait_for_termination(20), "the driver has not noticed"
try:
    wait_until(lambda: publication.offer(b"x") is None, "the client is not told")
except TruncatedFileError as error:
    print(error)
assert [type(error) for error in errors] == [TruncatedFileError], errors
aeron.close()
driver.close()
"""


@pytest.mark.parametrize("length", [0, 1, 4096, 1 << 20])
def test_a_cnc_file_that_is_cut_short_ends_client_and_driver_with_an_error(folder: Path, length: int) -> None:
    scene = play(CNC_SCENE, folder / "driver", length)
    assert scene.returncode == 0, scene.stderr
    # An access to a lost page, or the look at the file's length: what comes first.
    found = (
        rf"(no memory behind a mapped file \(SIGBUS\)|a mapped file was cut short); at {folder}/driver/cnc\.dat; expected \d+ bytes; got "
    )
    assert re.match(found, scene.stdout), scene.stdout
    assert re.search("aerowire driver: " + found, scene.stderr), scene.stderr
    assert "the driver ends" in scene.stderr


PLAIN_SCENE = """
import faulthandler, os, sys
from aerowire.memory.region import Region
from aerowire.system.bus_error import survive_bus_errors
if sys.argv[2] == "faulthandler":
    faulthandler.enable()
survive_bus_errors()
region = Region.map_file(sys.argv[1])
os.truncate(sys.argv[1], 0)
bytes(region)
"""


@pytest.mark.parametrize("before", ["default", "faulthandler"])
def test_a_file_that_nobody_looks_after_is_named_before_the_signal_has_its_way(folder: Path, before: str) -> None:
    path = folder / "file"
    path.write_bytes(bytes(8192))
    scene = play(PLAIN_SCENE, path, before)
    assert scene.returncode == -signal.SIGBUS
    first, *rest = scene.stderr.splitlines()
    assert first.startswith(f"aerowire: no memory behind a mapped file (SIGBUS): {path}: ")
    assert any("Bus error" in line for line in rest) == (before == "faulthandler")


FOREIGN_SCENE = """
import mmap, os, sys
from aerowire.system.bus_error import survive_bus_errors
survive_bus_errors()
with open(sys.argv[1], "r+b") as file:
    pages = mmap.mmap(file.fileno(), 8192)
if sys.argv[2] == "sent":
    os.kill(os.getpid(), 7)
os.truncate(sys.argv[1], 0)
print(pages[0])
"""


@pytest.mark.parametrize("how", ["sent", "touched"])
def test_a_bus_error_elsewhere_is_none_of_ours(folder: Path, how: str) -> None:
    path = folder / "file"
    path.write_bytes(bytes(8192))
    scene = play(FOREIGN_SCENE, path, how)
    assert (scene.returncode, scene.stdout, scene.stderr) == (-signal.SIGBUS, "", "")
