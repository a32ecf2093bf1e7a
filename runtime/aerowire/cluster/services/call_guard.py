"""The points at which a service may not send messages or schedule timers. Aeron: ClusteredServiceAgent.checkForValidInvocation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from aerowire.base.errors import ServiceCallError

_HINTS = {
    "on_start": "the log is not joined yet: do it when the first event of the log arrives",
    "on_terminate": "the service has left the log",
    "on_role_change": "members change their roles at different points of the log",
    "do_background_work": "it runs between messages, at points that differ from member to member",
}


class CallGuard:
    """The lifecycle callback of the service that runs now, if one does. Changed by the agent only."""

    __slots__ = ("callback",)

    def __init__(self) -> None:
        self.callback: str | None = None

    @contextmanager
    def within(self, callback: str) -> Iterator[None]:
        """Refuse calls while a callback of that name runs."""
        before, self.callback = self.callback, callback
        try:
            yield
        finally:
            self.callback = before

    def check(self) -> None:
        """Raise ServiceCallError within a callback from which nothing may be sent."""
        if self.callback is not None:
            raise ServiceCallError(
                f"sending messages or scheduling timers is not allowed from {self.callback}",
                where=self.callback,
                expected="a call from on_session_message, on_timer_event or another event of the log",
                actual=f"a call from {self.callback}",
                hint=_HINTS.get(self.callback),
            )
