"""A look-up of a name that hangs does not hold up the driver."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LIMIT_S = 20.0


def test_a_driver_ends_while_a_look_up_hangs(aeron_dir: str) -> None:
    code = f"""
import socket, threading, time
from aerowire.client import Aeron
from aerowire.driver import MediaDriver
asked = threading.Event()
def hang(*_arguments, **_options):
    asked.set()
    time.sleep({LIMIT_S * 3})
socket.getaddrinfo = hang
with MediaDriver.launch(aeron_dir={aeron_dir!r}, threading_mode="SHARED") as driver, Aeron.connect(driver.aeron_dir) as aeron:
    aeron.async_add_publication("aeron:udp?endpoint=slow.example:4000", 1)
    assert asked.wait({LIMIT_S})
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=LIMIT_S * 2, check=False).returncode == 0
    assert Path(aeron_dir, "cnc.dat").exists()
