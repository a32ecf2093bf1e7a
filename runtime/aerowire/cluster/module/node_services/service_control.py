"""Commands of a consensus module to its node's services, and their acknowledgements."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.cnc import ClusterRole

if TYPE_CHECKING:
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.node_services.service_acks import ServiceAcks
    from aerowire.cluster.module.node_services.service_proxy import ServiceProxy


class ServiceControl:
    """Has services join logs and end. Changed by all methods; `acks` has their acknowledgements, `client_ids` their clients, by service.

    `sources` are the images, by correlation id, that have brought acknowledgements which were taken: those of this node's services. One of
    an earlier life of the consensus module may go on for a while, and what it says is of another log.
    """

    def __init__(self, core: ModuleCore, proxy: ServiceProxy, acks: ServiceAcks) -> None:
        """Start with services that have not recovered yet."""
        self._core = core
        self._terminations: list[tuple[int, bool]] = []
        self.proxy = proxy
        self.acks = acks
        self.client_ids: tuple[int, ...] = ()
        self.sources: set[int] = set()
        self._gone: set[int] = set()

    def poll(self) -> int:
        """Send what found no room before."""
        sent = 0
        while self._terminations:
            position, is_ack_required = self._terminations[0]
            if not self.proxy.termination_position(position, is_ack_required=is_ack_required):
                break
            del self._terminations[0]
            sent += 1
        return sent

    def join_log(
        self,
        *,
        log_position: int,
        max_log_position: int,
        log_session_id: int,
        log_stream_id: int,
        is_startup: bool,
        role: ClusterRole,
        log_channel: str,
    ) -> Generator[None, None, None]:
        """Have services join a log, in steps, once they have joined the logs of earlier calls.

        A service that is busy joins late. An attempt that is given up meanwhile leaves its acknowledgement to the next one.
        """
        acks, context = self.acks, self._core.context
        while not acks.is_settled:
            yield
        check = self._core.deadline("services do not listen to the control channel")
        while acks.service_count and not self.proxy.join_log(
            log_position=log_position,
            max_log_position=max_log_position,
            member_id=context.cluster_member_id,
            log_session_id=log_session_id,
            log_stream_id=log_stream_id,
            is_startup=is_startup,
            role=role,
            log_channel=log_channel,
        ):
            check()
            yield
        acks.expect_join(log_position)
        while not acks.is_settled:
            yield

    def terminate(self, log_position: int, *, is_ack_required: bool) -> None:
        """Tell services to end at a position, now or as soon as there is room."""
        if self.acks.service_count:
            self._terminations.append((log_position, is_ack_required))
            self.poll()

    def note_gone(self, client_id: int) -> bool:
        """Note that a client has gone; return whether it is that of a service."""
        gone = {service_id for service_id, its_client_id in enumerate(self.client_ids) if its_client_id == client_id}
        self._gone |= gone
        return bool(gone)

    @property
    def missing(self) -> tuple[int, ...]:
        """The services that have gone, and have left no acknowledgement of the next round."""
        return tuple(service_id for service_id in sorted(self._gone) if not self.acks.has_acknowledged(service_id))

    def close(self) -> None:
        """Close the publication."""
        self.proxy.close()
