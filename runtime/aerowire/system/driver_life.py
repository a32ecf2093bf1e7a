"""Whether the driver of a directory lives. The wall clock alone does not decide: it may be set while a driver lives, or after it has died.

A driver of this implementation holds its lock file until it ends, however it ends. Other drivers have only a heartbeat in epoch
milliseconds. One that is too old, or lies in the future, is watched by the monotonic clock: a living driver writes another one within its
timer interval.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from aerowire.base.directory import LOCK_FILE_NAME
from aerowire.codecs.flyweights.cnc import CONSUMER_HEARTBEAT_CLOSED
from aerowire.system.file_locks import is_held
from aerowire.system.processes import process_is_running
from aerowire.system.waiting import sleep

if TYPE_CHECKING:
    from aerowire.base.ports import ClockPort

# How long a living driver takes for another heartbeat: its timer interval is a second unless an option says otherwise.
BEAT_NS_MAX = 1_200_000_000
_LOOK_NS = 10_000_000
_NS_PER_MS = 1_000_000


class BeatingFile(Protocol):
    """The cnc file of a driver."""

    @property
    def heartbeat_ms(self) -> int: ...
    @property
    def pid(self) -> int: ...


class DriverLife:
    """Judges whether the driver of one directory lives; remembers the last heartbeat that it has doubted."""

    def __init__(
        self,
        directory: Path,
        clock: ClockPort,
        timeout_ns: int,
        sleep: Callable[[int], object] = sleep,
        *,
        is_lock_held: Callable[[Path], bool | None] = is_held,
        is_running: Callable[[int], bool] = process_is_running,
    ) -> None:
        """`timeout_ns` is how old a heartbeat may be; `sleep` takes nanoseconds; the last two look at lock file and process."""
        self._lock_file = directory / LOCK_FILE_NAME
        self._clock = clock
        self._timeout_ns = timeout_ns
        self._sleep = sleep
        self._is_lock_held = is_lock_held
        self._is_running = is_running
        self._doubted: int | None = None

    def is_alive(self, file: BeatingFile) -> bool:
        """Return whether the driver lives, without waiting. A heartbeat that another call has doubted is believed once it has moved on."""
        heartbeat_ms = file.heartbeat_ms
        if heartbeat_ms in (0, CONSUMER_HEARTBEAT_CLOSED) or self._is_lock_held(self._lock_file) is False:
            return False
        if heartbeat_ms == self._doubted:
            return False
        age_ms = self._clock.now_ms() - heartbeat_ms
        if self._doubted is not None or 0 <= age_ms <= self._timeout_ns // _NS_PER_MS:
            self._doubted = None
            return True
        self._doubted = heartbeat_ms
        return False

    def await_life(self, file: BeatingFile) -> bool:
        """As `is_alive`, but wait up to 1.2 s for the next heartbeat of a driver that may live although the wall clock denies it."""
        was_doubted = self._doubted
        if self.is_alive(file):
            return True
        if self._doubted is None or self._doubted == was_doubted:
            return False
        if self._is_lock_held(self._lock_file) is None and not self._is_running(file.pid):
            return False
        return beats(file, self._doubted, self._clock, BEAT_NS_MAX, self._sleep) and self.is_alive(file)


def beats(file: BeatingFile, heartbeat_ms: int, clock: ClockPort, timeout_ns: int, sleep: Callable[[int], object] = sleep) -> bool:
    """Return whether another heartbeat than the given one comes in time, by a clock that is not set."""
    deadline_ns = clock.now_ns() + timeout_ns
    while file.heartbeat_ms == heartbeat_ms and clock.now_ns() <= deadline_ns:
        sleep(_LOOK_NS)
    return file.heartbeat_ms not in (heartbeat_ms, CONSUMER_HEARTBEAT_CLOSED)
