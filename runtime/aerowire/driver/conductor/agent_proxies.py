"""Commands to the native agents, in order and never lost: what an agent's bounded queue cannot take now waits here.

One client that times out may ask an agent for more at once than its queue holds; everything behind such a command waits too.
Conductor thread only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from aerowire.base.socket_address import SocketAddress
    from aerowire.driver.agents.conductor_agent import ConductorAgent
    from aerowire.driver.agents.receiver import Receiver
    from aerowire.driver.agents.sender import Sender
    from aerowire.driver.media.receive_endpoint import ReceiveEndpoint
    from aerowire.driver.media.receive_transport import ReceiveTransport
    from aerowire.driver.media.send_endpoint import SendEndpoint
    from aerowire.driver.streams.ipc_publication import IpcPublication
    from aerowire.driver.streams.network_publication import NetworkPublication
    from aerowire.driver.streams.publication_image import PublicationImage
    from aerowire.driver.streams.subscribable import Subscribable
    from aerowire.ipc.counters import AtomicCounter

# Room that is always left in an agent's queue, so that a command of a few parts goes in whole.
_RESERVE = 8


class _Agent(Protocol):
    @property
    def free_commands(self) -> int: ...
    def forget_taken(self) -> None: ...


class AgentProxy:
    """Orders commands to one agent. `failed_offers` counts those that it had no room for.

    Invariant: while `_waiting` is not empty, nothing goes past it.
    """

    __slots__ = ("_agent", "_failed_offers", "_waiting")

    def __init__(self, agent: _Agent, failed_offers: AtomicCounter | None = None) -> None:
        self._agent = agent
        self._failed_offers = failed_offers
        self._waiting: deque[Callable[[], object]] = deque()

    @property
    def is_open(self) -> bool:
        """Whether a new request may be read that leads here."""
        return not self._waiting and self._agent.free_commands > _RESERVE

    def flush(self) -> int:
        """Release the objects of commands that were taken, then send waiting commands while there is room; return how many were sent."""
        self._agent.forget_taken()
        count = 0
        while self._waiting and self._agent.free_commands > 0:
            self._waiting.popleft()()
            count += 1
        return count

    def _put(self, command: Callable[[], object]) -> None:
        if self._waiting or self._agent.free_commands <= 0:
            self._waiting.append(command)
            if self._failed_offers is not None:
                self._failed_offers.increment()
        else:
            command()


class SenderProxy(AgentProxy):
    """Commands to the sender."""

    __slots__ = ("_sender",)

    def __init__(self, sender: Sender, failed_offers: AtomicCounter) -> None:
        super().__init__(sender, failed_offers)
        self._sender = sender

    def add_endpoint(self, endpoint: SendEndpoint) -> None:
        self._put(lambda: self._sender.add_endpoint(endpoint))

    def remove_endpoint(self, endpoint: SendEndpoint) -> None:
        self._put(lambda: self._sender.remove_endpoint(endpoint))

    def add_publication(self, publication: NetworkPublication) -> None:
        self._put(lambda: self._sender.add_publication(publication))

    def add_destination(self, endpoint: SendEndpoint, registration_id: int, address: SocketAddress) -> None:
        self._put(lambda: self._sender.add_destination(endpoint, registration_id, address.native))

    def remove_destination(self, endpoint: SendEndpoint, registration_id: int) -> None:
        self._put(lambda: self._sender.remove_destination(endpoint, registration_id))

    def update_destination(self, endpoint: SendEndpoint, registration_id: int, address: SocketAddress) -> None:
        self._put(lambda: self._sender.update_destination(endpoint, registration_id, address.native))

    def remove_publication(self, publication: NetworkPublication) -> None:
        self._put(lambda: self._sender.remove_publication(publication))


class ReceiverProxy(AgentProxy):
    """Commands to the receiver."""

    __slots__ = ("_receiver",)

    def __init__(self, receiver: Receiver, failed_offers: AtomicCounter) -> None:
        super().__init__(receiver, failed_offers)
        self._receiver = receiver

    def add_endpoint(self, endpoint: ReceiveEndpoint) -> None:
        self._put(lambda: self._receiver.add_endpoint(endpoint))

    def remove_endpoint(self, endpoint: ReceiveEndpoint) -> None:
        self._put(lambda: self._receiver.remove_endpoint(endpoint))

    def add_destination(self, endpoint: ReceiveEndpoint, transport: ReceiveTransport) -> None:
        self._put(lambda: self._receiver.add_destination(endpoint, transport))

    def remove_destination(self, endpoint: ReceiveEndpoint, transport: ReceiveTransport) -> None:
        self._put(lambda: self._receiver.remove_destination(endpoint, transport))

    def add_subscription(self, endpoint: ReceiveEndpoint, stream_id: int, session_id: int | None = None) -> None:
        self._put(lambda: self._receiver.add_subscription(endpoint, stream_id, session_id))

    def remove_subscription(self, endpoint: ReceiveEndpoint, stream_id: int, session_id: int | None = None) -> None:
        self._put(lambda: self._receiver.remove_subscription(endpoint, stream_id, session_id))

    def add_image(self, image: PublicationImage) -> None:
        self._put(lambda: self._receiver.add_image(image))

    def request_setup(self, endpoint: ReceiveEndpoint, stream_id: int, session_id: int) -> None:
        self._put(lambda: self._receiver.request_setup(endpoint, stream_id, session_id))

    def change_control(self, transport: ReceiveTransport, address: SocketAddress) -> None:
        self._put(lambda: self._receiver.change_control(transport, address.native))

    def remove_cool_down(self, endpoint: ReceiveEndpoint, session_id: int, stream_id: int) -> None:
        self._put(lambda: self._receiver.remove_cool_down(endpoint, session_id, stream_id))

    def remove_init_in_progress(self, endpoint: ReceiveEndpoint, session_id: int, stream_id: int) -> None:
        self._put(lambda: self._receiver.remove_init_in_progress(endpoint, session_id, stream_id))

    def reject_image(self, image: PublicationImage, reason: str) -> None:
        self._put(lambda: self._receiver.reject_image(image, reason))


class ConductorAgentProxy(AgentProxy):
    """Commands to the conductor agent. Officially it is one with the conductor, and has no counter of this kind."""

    __slots__ = ("_conductor_agent",)

    def __init__(self, conductor_agent: ConductorAgent) -> None:
        super().__init__(conductor_agent)
        self._conductor_agent = conductor_agent

    def add_publication(self, publication: IpcPublication | NetworkPublication) -> None:
        self._put(lambda: self._conductor_agent.add_publication(publication))

    def close_publication(self, publication: IpcPublication | NetworkPublication, *, abandoned: bool) -> None:
        self._put(lambda: self._conductor_agent.close_publication(publication, abandoned=abandoned))

    def add_image(self, image: PublicationImage) -> None:
        self._put(lambda: self._conductor_agent.add_image(image))

    def link_subscriber(self, source: Subscribable, position_id: int, registration_id: int, tether: int) -> None:
        self._put(lambda: self._conductor_agent.link_subscriber(source, position_id, registration_id, tether))

    def unlink_subscriber(self, source: Subscribable, position_id: int, registration_id: int) -> None:
        self._put(lambda: self._conductor_agent.unlink_subscriber(source, position_id, registration_id))

    def reject_publication(self, publication: IpcPublication) -> None:
        self._put(lambda: self._conductor_agent.reject_publication(publication))

    def add_client(self, client_id: int, heartbeat_counter_id: int) -> None:
        self._put(lambda: self._conductor_agent.add_client(client_id, heartbeat_counter_id))
