"""Clients of the driver, their heartbeats and the counters they asked for. Aeron: AeronClient, CounterLink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.base.errors import RegistrationError
from aerowire.codecs.flyweights import cnc
from aerowire.codecs.tables.errors import ErrorCode

if TYPE_CHECKING:
    from aerowire.base.ports import ClockPort
    from aerowire.driver.conductor.agent_proxies import ConductorAgentProxy
    from aerowire.driver.conductor.client_proxy import ClientProxy
    from aerowire.driver.resources.stream_counters import StreamCounters


@dataclass(frozen=True, slots=True)
class Client:
    """A client that the driver has heard of."""

    client_id: int
    heartbeat_counter_id: int


@dataclass(frozen=True, slots=True)
class UserCounter:
    """A counter that a client asked for and owns."""

    registration_id: int
    counter_id: int
    client_id: int


class Clients:
    """Who is there. Liveness itself is the conductor agent's: it watches heartbeats and posts a timeout.

    Invariant: the conductor agent watches exactly the clients in `_clients`.
    """

    def __init__(
        self, *, counters: StreamCounters, client_proxy: ClientProxy, conductor_agent: ConductorAgentProxy, clock: ClockPort
    ) -> None:
        self._counters = counters
        self._client_proxy = client_proxy
        self._conductor_agent = conductor_agent
        self._clock = clock
        self._clients: dict[int, Client] = {}

    def get_or_add(self, client_id: int) -> Client:
        """Return a client; a new one gets a heartbeat counter, which is broadcast under the client's id."""
        client = self._clients.get(client_id)
        if client is None:
            counter_id = self._counters.client_heartbeat(client_id, self._clock.now_ms())
            client = self._clients[client_id] = Client(client_id, counter_id)
            self._conductor_agent.add_client(client_id, counter_id)
            self._client_proxy.counter_ready(client_id, counter_id)
        return client

    def has(self, client_id: int) -> bool:
        """Return whether a client is known and has not been given up."""
        return client_id in self._clients

    def on_keepalive(self, client_id: int) -> None:
        """Note a sign of life that came as a command."""
        client = self._clients.get(client_id)
        if client is not None:
            self._counters.manager.set_value(client.heartbeat_counter_id, self._clock.now_ms())

    def on_close(self, client_id: int) -> None:
        """A client took its leave: a heartbeat of 0 makes the conductor agent time it out at its next look."""
        client = self._clients.get(client_id)
        if client is not None:
            self._counters.manager.set_value(client.heartbeat_counter_id, 0)

    def on_timeout(self, client_id: int, *, is_closed: bool) -> None:
        """Forget a client that the conductor agent gave up; tells everybody, and the client unless it had closed."""
        client = self._clients.pop(client_id, None)
        if client is None:
            return
        if not is_closed:
            self._client_proxy.client_timeout(client_id)
        self._client_proxy.unavailable_counter(client_id, client.heartbeat_counter_id)
        self._counters.manager.free(client.heartbeat_counter_id)


class UserCounters:
    """Counters that clients ask for."""

    def __init__(self, *, counters: StreamCounters, client_proxy: ClientProxy, clients: Clients) -> None:
        self._counters = counters
        self._client_proxy = client_proxy
        self._clients = clients
        self._by_registration: dict[int, UserCounter] = {}

    def add(self, correlation_id: int, client_id: int, type_id: int, key: bytes, label: str) -> None:
        """Allocate a counter for a client."""
        client = self._clients.get_or_add(client_id)
        counter_id = self._counters.manager.allocate(label, type_id, key, registration_id=correlation_id, owner_id=client.client_id)
        self._by_registration[correlation_id] = UserCounter(correlation_id, counter_id, client_id)
        self._client_proxy.counter_ready(correlation_id, counter_id)

    def has(self, registration_id: int) -> bool:
        """Return whether a client's counter has `registration_id`."""
        return registration_id in self._by_registration

    def add_static(self, correlation_id: int, client_id: int, registration_id: int, type_id: int, key: bytes, label: str) -> None:
        """Return the static counter of (type, registration), which outlives its client, or make it."""
        self._clients.get_or_add(client_id)
        manager = self._counters.manager
        counter_id = manager.find_by_type_and_registration(type_id, registration_id)
        if counter_id == cnc.COUNTER_NULL_ID:
            counter_id = manager.allocate(label, type_id, key, registration_id=registration_id, owner_id=cnc.COUNTER_DRIVER_OWNER_ID)
        elif manager.owner_id(counter_id) != cnc.COUNTER_DRIVER_OWNER_ID:
            raise RegistrationError(
                "a counter of that type and registration exists and is not static",
                where=f"counter {counter_id}",
                expected="no owner",
                actual=f"type {type_id}, registration {registration_id}, owner {manager.owner_id(counter_id)}",
                error_code=ErrorCode.GENERIC_ERROR,
            )
        self._client_proxy.static_counter(correlation_id, counter_id)

    def remove(self, correlation_id: int, registration_id: int) -> None:
        """Free a counter that its owner gives back."""
        counter = self._by_registration.pop(registration_id, None)
        if counter is None:
            raise RegistrationError(
                "unknown counter",
                where="remove counter",
                expected="the registration of a counter",
                actual=registration_id,
                error_code=ErrorCode.UNKNOWN_COUNTER,
            )
        self._client_proxy.operation_success(correlation_id)
        self._free(counter)

    def remove_client(self, client_id: int) -> None:
        """Free every counter of a client that is gone."""
        for counter in [item for item in self._by_registration.values() if item.client_id == client_id]:
            del self._by_registration[counter.registration_id]
            self._free(counter)

    def _free(self, counter: UserCounter) -> None:
        self._client_proxy.unavailable_counter(counter.registration_id, counter.counter_id)
        self._counters.manager.free(counter.counter_id)
