"""The place where the conductor's thread idles: by an idle strategy, as native agents do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.base.idle import IdleStrategy


class IdleSleeper:
    """Idles for as long as the strategy says, without the interpreter lock. One thread, but for `wake`."""

    def __init__(self, strategy: IdleStrategy) -> None:
        self._strategy = strategy

    def sleep(self, _timeout_ns: int, /) -> None:
        """Idle once."""
        self._strategy(0)

    def wake(self) -> None:
        """Do nothing: the longest park of a strategy is short."""

    def start_over(self) -> None:
        """Idle briefly the next time: there was work."""
        self._strategy.start_over()
