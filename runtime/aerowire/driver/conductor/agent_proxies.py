"""Commands to the driver's native agents.

A method states an operation, its arguments in the agent's own form, and how long the agent needs the objects; the agent's module has
the operations and what it does for each. One client that times out may ask an agent for more at once than its queue holds; everything
behind such a command waits too. Conductor thread only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.agents.agent_proxy import AgentProxy
from aerowire.agents.command_queue import AgentCommand
from aerowire.driver.agents import conductor_agent, receiver, sender
from aerowire.driver.media.receive_transport import ControlChange
from aerowire.driver.media.send_endpoint import DestinationChange
from aerowire.driver.streams.ipc_publication import IpcPublication
from aerowire.driver.streams.untethered_subscriptions import Tether

if TYPE_CHECKING:
    from aerowire.base.socket_address import SocketAddress
    from aerowire.driver.media.receive_endpoint import ReceiveEndpoint
    from aerowire.driver.media.receive_transport import ReceiveTransport
    from aerowire.driver.media.send_endpoint import SendEndpoint
    from aerowire.driver.streams.network_publication import NetworkPublication
    from aerowire.driver.streams.publication_image import PublicationImage
    from aerowire.driver.streams.subscribable import Subscribable


class SenderProxy(AgentProxy):
    """Commands to the sender."""

    __slots__ = ()

    def add_endpoint(self, endpoint: SendEndpoint) -> None:
        """Read answers from an endpoint from now on. Held until SEND_ENDPOINT_REMOVED."""
        self.put(AgentCommand(sender.ADD_ENDPOINT, endpoint, hold=True))

    def remove_endpoint(self, endpoint: SendEndpoint) -> None:
        """Use an endpoint no more; its publications were removed before. Answered by SEND_ENDPOINT_REMOVED."""
        self.put(AgentCommand(sender.REMOVE_ENDPOINT, endpoint))

    def add_publication(self, publication: NetworkPublication) -> None:
        """Send a publication from now on. Held until PUBLICATION_REMOVED."""
        self.put(AgentCommand(sender.ADD_PUBLICATION, publication, hold=True))

    def remove_publication(self, publication: NetworkPublication) -> None:
        """Send a publication no more; the conductor agent answers with PUBLICATION_REMOVED."""
        self.put(AgentCommand(sender.REMOVE_PUBLICATION, publication))

    def add_destination(self, endpoint: SendEndpoint, registration_id: int, address: SocketAddress) -> None:
        """Send to an address as well from now on."""
        self.put(AgentCommand(sender.ADD_DESTINATION, DestinationChange(endpoint, registration_id, address.native)))

    def remove_destination(self, endpoint: SendEndpoint, registration_id: int) -> None:
        """Send to the destination of that registration no more; an unknown one is no error."""
        self.put(AgentCommand(sender.REMOVE_DESTINATION, DestinationChange(endpoint, registration_id)))

    def update_destination(self, endpoint: SendEndpoint, registration_id: int, address: SocketAddress) -> None:
        """Send to another address from now on: a name has moved. A registration of -1 is the endpoint's own peer."""
        self.put(AgentCommand(sender.UPDATE_DESTINATION, DestinationChange(endpoint, registration_id, address.native)))


class ReceiverProxy(AgentProxy):
    """Commands to the receiver."""

    __slots__ = ()

    def add_endpoint(self, endpoint: ReceiveEndpoint) -> None:
        """Read an endpoint from now on. Held until RECEIVE_ENDPOINT_REMOVED."""
        self.put(AgentCommand(receiver.ADD_ENDPOINT, endpoint, hold=True))

    def remove_endpoint(self, endpoint: ReceiveEndpoint) -> None:
        """Use an endpoint no more; its images have ended, or are about to. Answered by RECEIVE_ENDPOINT_REMOVED."""
        self.put(AgentCommand(receiver.REMOVE_ENDPOINT, endpoint))

    def add_destination(self, endpoint: ReceiveEndpoint, transport: ReceiveTransport) -> None:
        """Read one more transport of a multi-destination endpoint, which keeps it alive."""
        endpoint.hold(transport)
        self.put(AgentCommand(receiver.ADD_DESTINATION, transport, second=endpoint))

    def remove_destination(self, endpoint: ReceiveEndpoint, transport: ReceiveTransport) -> None:
        """Use a transport no more; the endpoint is removed AFTERWARDS if at all. Answered by RECEIVE_DESTINATION_REMOVED."""
        self.put(AgentCommand(receiver.REMOVE_DESTINATION, transport, second=endpoint, awaits=True))

    def add_subscription(self, endpoint: ReceiveEndpoint, stream_id: int, session_id: int | None = None) -> None:
        """Take a stream, or one session of it, from an endpoint."""
        self.put(AgentCommand(receiver.ADD_SUBSCRIPTION, endpoint, stream_id, session_id or 0, flag=session_id is None))

    def remove_subscription(self, endpoint: ReceiveEndpoint, stream_id: int, session_id: int | None = None) -> None:
        """Take a stream, or one session of it, no longer; images without a subscriber drain."""
        self.put(AgentCommand(receiver.REMOVE_SUBSCRIPTION, endpoint, stream_id, session_id or 0, flag=session_id is None))

    def add_image(self, image: PublicationImage) -> None:
        """Deliver its session to an image. Held until IMAGE_REMOVED; the conductor agent's add_image comes first."""
        self.put(AgentCommand(receiver.ADD_IMAGE, image, hold=True))

    def request_setup(self, endpoint: ReceiveEndpoint, stream_id: int, session_id: int) -> None:
        """Ask for a set-up at the endpoint's control address, if it has one."""
        self.put(AgentCommand(receiver.REQUEST_SETUP, endpoint, stream_id, session_id))

    def change_control(self, transport: ReceiveTransport, address: SocketAddress) -> None:
        """Ask for set-ups at, and answer to, another control address from now on: its name has moved."""
        self.put(AgentCommand(receiver.CHANGE_CONTROL, ControlChange(transport, address.native)))

    def remove_cool_down(self, endpoint: ReceiveEndpoint, session_id: int, stream_id: int) -> None:
        """Let a session whose image ended join again."""
        self.put(AgentCommand(receiver.REMOVE_COOL_DOWN, endpoint, stream_id, session_id))

    def remove_init_in_progress(self, endpoint: ReceiveEndpoint, session_id: int, stream_id: int) -> None:
        """Let the next set-up ask again for an image that could not be made."""
        self.put(AgentCommand(receiver.REMOVE_INIT_IN_PROGRESS, endpoint, stream_id, session_id))


class ConductorAgentProxy(AgentProxy):
    """Commands to the conductor agent. Officially it is one with the conductor, and has no counter of this kind."""

    __slots__ = ()

    def add_publication(self, publication: IpcPublication | NetworkPublication) -> None:
        """Keep a publication in order. Held until PUBLICATION_REMOVED."""
        is_ipc = isinstance(publication, IpcPublication)
        operation = conductor_agent.ADD_IPC_PUBLICATION if is_ipc else conductor_agent.ADD_NETWORK_PUBLICATION
        self.put(AgentCommand(operation, publication, hold=True))

    def close_publication(self, publication: IpcPublication | NetworkPublication, *, abandoned: bool = False) -> None:
        """End a publication without registrations. One that its client's death left gets the look that the timer has just given others."""
        is_ipc = isinstance(publication, IpcPublication)
        operation = conductor_agent.CLOSE_IPC_PUBLICATION if is_ipc else conductor_agent.CLOSE_NETWORK_PUBLICATION
        self.put(AgentCommand(operation, publication, flag=abandoned))

    def reject_publication(self, publication: IpcPublication) -> None:
        """Keep subscribers from an IPC publication until COOL_DOWN_OVER; the caller unlinks those that it has."""
        self.put(AgentCommand(conductor_agent.REJECT_IPC_PUBLICATION, publication))

    def add_image(self, image: PublicationImage) -> None:
        """Keep an image in order. Held until IMAGE_REMOVED."""
        self.put(AgentCommand(conductor_agent.ADD_IMAGE, image, hold=True))

    def link_subscriber(self, source: Subscribable, position_id: int, registration_id: int, tether: Tether = Tether.TETHERED) -> None:
        """Let a subscriber join a publication or an image; answered by SUBSCRIBER_LINKED."""
        self.put(AgentCommand(conductor_agent.LINK_SUBSCRIBER, source, position_id, tether, value=registration_id, awaits=True))

    def unlink_subscriber(self, source: Subscribable, position_id: int, registration_id: int) -> None:
        """Forget a subscriber of a publication or an image; answered by SUBSCRIBER_UNLINKED."""
        self.put(AgentCommand(conductor_agent.UNLINK_SUBSCRIBER, source, position_id, value=registration_id, awaits=True))

    def add_client(self, client_id: int, heartbeat_counter_id: int) -> None:
        """Watch a client's heartbeat; answered by CLIENT_TIMEOUT when it is silent or has closed."""
        self.put(AgentCommand(conductor_agent.ADD_CLIENT, None, heartbeat_counter_id, value=client_id))
