"""An application of a scenario: a client process on a host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerowire.base.errors import ClosedError, DriverTimeoutError, RegistrationError
from aerowire.base.units import INT64_MAX
from aerowire.codecs.tables.errors import ErrorCode

if TYPE_CHECKING:
    from aerowire.client import Pending
    from aerowire.simulation.host import SimulatedHost


class Application:
    """A client process on a host with a driver. When it ends, another is started. `name` is for reports, `pending` the last command."""

    def __init__(self, host: SimulatedHost, name: str, **options: Any) -> None:
        self.name = name
        self.host = host
        self.driver_process = host.driver_process
        self.client = host.connect(work=self._work, next_deadline_ns=self.next_deadline_ns, **options)
        self.pending: Pending[Any] | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it can do nothing any more: its process has ended, or its client, or it never got one."""
        if self.client.has_ended:
            return True
        connecting = self.client.connecting
        return connecting.is_done and (not connecting.is_fulfilled or self.client.aeron.is_closed)

    @property
    def is_connected(self) -> bool:
        """Whether its publication or subscription says that it is connected."""
        return False

    def close(self) -> None:
        """End in good order. A second call does nothing."""
        self.client.close()

    def next_deadline_ns(self) -> int:
        """Return when there is something to do though nothing has come."""
        return INT64_MAX

    def take_answer(self) -> Any:
        """Return what `pending` has brought; None while there is no answer, and where the driver wants it asked for again, later."""
        if self.pending is None or not self.pending.poll():
            return None
        try:
            return self.pending.result()
        except RegistrationError as error:
            if error.error_code != ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE:
                raise
            self.pending = None
            return None

    def what_it_waits_for(self) -> str:
        """Return what is known of its state, for people."""
        if self.client.has_ended:
            return "its process has ended"
        connecting = self.client.connecting
        if not connecting.is_fulfilled:
            return f"its driver: {connecting.problem}" if not connecting.is_done else "no driver: it has given up"
        if self.client.aeron.is_closed:
            return f"nothing: its client has ended ({self.client.errors[-1:]})"
        if self.pending is None or not self.pending.is_done:
            return "an answer of its driver"
        return self.state()

    def work(self) -> int:
        """Do what is due; return how much was done."""
        raise NotImplementedError

    def _work(self) -> int:
        try:
            return self.work()
        except (ClosedError, DriverTimeoutError):
            if not self.has_ended:
                raise
            return 0  # its driver has gone, or has given it up: another one is started

    def state(self) -> str:
        """Return what is known of it while its client works, for people."""
        raise NotImplementedError
