"""The error for a driver that does not live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.errors import DriverTimeoutError

if TYPE_CHECKING:
    from aerowire.base.ports import ClockPort
    from aerowire.ipc.cnc import CncFile


def check_driver(cnc: CncFile, is_alive: bool, clock: ClockPort, timeout_ns: int) -> None:
    """Raise DriverNotReadyError, DriverShutdownError or DriverTimeoutError unless the driver of a file `is_alive`."""
    if is_alive:
        return
    now_ms = clock.now_ms()
    heartbeat_ms = cnc.check_driver(now_ms, timeout_ns // 1_000_000)
    raise DriverTimeoutError(
        "the driver is dead",
        where=cnc.path,
        expected="a driver that holds its lock file, or a heartbeat that moves",
        actual=f"no such process, or no heartbeat since one of {now_ms - heartbeat_ms} ms ago by the wall clock",
        hint="start it again",
    )
