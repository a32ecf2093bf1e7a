"""Asking a driver to end, without a client of it. Aeron: CommonContext.requestDriverTermination."""

from __future__ import annotations

import os
import time
from pathlib import Path

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.client.context import ClientContext
from aerowire.client.driver_proxy import DriverProxy
from aerowire.ipc.cnc import CncFile


def request_driver_termination(aeron_dir: str | os.PathLike[str] | None = None, token: bytes = b"") -> None:
    """Ask the driver in `aeron_dir` (default as in `Aeron.connect`) to end; does not wait until it has.

    The driver ends only if its termination validator (`aeron.driver.termination.validator`) accepts the token: by default it accepts none.
    Raises DriverDirectoryMissingError where there is no driver, DriverTimeoutError or DriverShutdownError where it lives no more, and
    RingBufferFullError when it takes no commands.
    """
    settled = ClientContext(aeron_dir=aeron_dir).conclude()
    with CncFile.map(Path(settled.aeron_dir) / CNC_FILE_NAME) as cnc:
        cnc.check_driver(time.time_ns() // 1_000_000, settled.driver_timeout_ns // 1_000_000)
        DriverProxy(cnc.to_driver).terminate_driver(token)
