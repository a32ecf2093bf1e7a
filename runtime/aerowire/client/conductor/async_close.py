"""The end of a client in steps, none of which waits. Aeron: Aeron.close, with Context.closeLingerDurationNs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.client.handles.waiting import Pending
from aerowire.codecs.flyweights.commands import NULL_CORRELATION_ID

if TYPE_CHECKING:
    from aerowire.base.ports import ClockPort


class AsyncClose(Pending[None]):
    """A client whose handles have ended: it lingers, notifies the driver, and stops its threads. It cannot be given up."""

    __slots__ = ("_clock", "_deadline_ns", "_leave", "_stop")

    def __init__(
        self, aeron_dir: str, clock: ClockPort, linger_ns: int, *, leave: Callable[[], None], stop: Callable[[float], bool]
    ) -> None:
        """`leave` notifies the driver, once; `stop` waits so many seconds for the threads, and returns whether they have ended."""
        super().__init__(NULL_CORRELATION_ID, f"close the client of the driver in {aeron_dir}", self._look, lambda _: None)
        self._clock = clock
        self._deadline_ns = clock.now_ns() + linger_ns
        self._leave = leave
        self._stop = stop

    @property
    def deadline_ns(self) -> int:
        """When (ns of the client's clock) it has lingered long enough."""
        return self._deadline_ns

    @property
    def has_lingered(self) -> bool:
        """Whether the time is over for which the client lingers."""
        return self._clock.now_ns() >= self._deadline_ns

    def finish(self, timeout_s: float) -> None:
        """Notify the driver, and wait for the threads; the close is done once they have ended."""
        self._leave()
        if self._stop(timeout_s):
            self.complete(None)

    def _look(self) -> None:
        if self.has_lingered:
            self.finish(0)
