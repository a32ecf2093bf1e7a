"""A hostile peer in a simulated world: a client that publishes what it likes to the streams of members."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aerowire.client import ExclusivePublication, FragmentAssembler, Subscription
from aerowire.cluster.sessions.session_options import PROTOCOL_VERSION
from aerowire.codecs.flyweights import cluster
from aerowire.codecs.flyweights.cluster.enums import EventCode
from aerowire.simulation.host import SimulatedHost
from aerowire.simulation.world import SimulatedWorld
from tests.cluster.module.simulated_members import MS, SimulatedMember

LIMIT_NS = 20_000 * MS
INGRESS_STREAM, CONSENSUS_STREAM, SERVICE_STREAM, EGRESS_STREAM = 101, 108, 105, 102
INGRESS_PORT, CONSENSUS_PORT, EGRESS_PORT = 9001, 9002, 9009
CONTROL_CHANNEL = "aeron:ipc?term-length=128k"


class SimulatedAttacker:
    """One client of a host's driver."""

    def __init__(self, world: SimulatedWorld, host: SimulatedHost) -> None:
        """Connect."""
        self._world = world
        self._host = host
        self._client = host.connect()
        self.responses: list[Any] = []
        self._assembler = FragmentAssembler(self._on_response)
        self.egress: Subscription = self._complete(self._client.aeron.async_add_subscription(self.egress_channel, EGRESS_STREAM))

    @property
    def egress_channel(self) -> str:
        """The channel by which it is answered."""
        return f"aeron:udp?endpoint={self._host.address}:{EGRESS_PORT}|term-length=64k"

    def ingress(self, member: SimulatedMember) -> ExclusivePublication:
        """Return a publication that a member reads as that of a client; longer messages fit into its terms than into those of the log."""
        return self._publication(f"aeron:udp?endpoint={member.host.address}:{INGRESS_PORT}|term-length=1m", INGRESS_STREAM)

    def consensus(self, member: SimulatedMember) -> ExclusivePublication:
        """Return a publication that a member reads as that of another member."""
        return self._publication(f"aeron:udp?endpoint={member.host.address}:{CONSENSUS_PORT}|term-length=1m", CONSENSUS_STREAM)

    def service(self) -> ExclusivePublication:
        """Return a publication that the member of the same host reads as that of its service."""
        return self._publication(CONTROL_CHANNEL, SERVICE_STREAM)

    def send(self, publication: ExclusivePublication, message: bytes) -> None:
        """Send a message as soon as there is room."""
        if publication.offer(message) < 0:
            self.until(lambda: publication.offer(message) > 0, f"room for {len(message)} bytes")

    def open_session(self, ingress: ExclusivePublication) -> int:
        """Open a session with a leader; return its id."""
        request = cluster.SessionConnectRequest(
            correlation_id=len(self.responses) + 1,
            response_stream_id=EGRESS_STREAM,
            version=PROTOCOL_VERSION,
            response_channel=self.egress_channel,
            encoded_credentials=b"",
            client_info="",
        )
        self.send(ingress, request.encode())
        self.until(lambda: self.poll() and isinstance(self.responses[-1], cluster.SessionEvent), "an answer to a request to connect")
        event = self.responses[-1]
        assert event.code is EventCode.OK, event
        session_id: int = event.cluster_session_id
        return session_id

    def poll(self) -> int:
        """Read what it is answered; return how much that was."""
        return self.egress.poll(self._assembler, 100)

    def until(self, condition: Callable[[], object], what: object) -> None:
        """Let the world run until something is so."""
        assert self._world.run(LIMIT_NS, until=lambda: bool(condition())), what

    def _publication(self, channel: str, stream_id: int) -> ExclusivePublication:
        publication: ExclusivePublication = self._complete(self._client.aeron.async_add_exclusive_publication(channel, stream_id))
        self.until(lambda: publication.is_connected, channel)
        return publication

    def _complete(self, pending: Any) -> Any:
        return self._client.complete(pending)

    def _on_response(self, buffer: memoryview, offset: int, length: int, _header: object) -> None:
        self.responses.append(cluster.decode(bytes(buffer[offset : offset + length])))
