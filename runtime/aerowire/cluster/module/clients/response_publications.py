"""The publications on which clients, backups and standbys get their answers, each with the counter of its session.

A publication that the driver cannot make for now is asked for again. Aeron: ClusterSession.asyncConnect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.archive.control.retried_request import RetriedRequest
from aerowire.base.errors import AerowireError, PublicationClosedError
from aerowire.cluster.sessions.inputs import ResponseAdded, ResponseConnected, ResponseFailed
from aerowire.codecs.flyweights.cnc import ClusterSessionKeyEncoder
from aerowire.codecs.tables.counters import CounterType, format_label

if TYPE_CHECKING:
    from aerowire.client.handles.counter import Counter
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import Publication
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.sessions.effects import OpenResponse
    from aerowire.cluster.sessions.inputs import Input

_SEND_ATTEMPTS = 3


class _Response:
    """One publication, asked for or there, and its counter."""

    def __init__(self, core: ModuleCore, effect: OpenResponse) -> None:
        aeron, cluster_id = core.aeron, core.context.cluster_id
        self.cluster_session_id = effect.cluster_session_id
        self.request = RetriedRequest(lambda: aeron.async_add_publication(effect.response_channel, effect.response_stream_id))
        key = ClusterSessionKeyEncoder.encode(cluster_id=cluster_id, cluster_session_id=effect.cluster_session_id)
        info = effect.info.encode("ascii", "replace").decode("ascii")  # a session keeps it short enough for a label
        label = format_label(CounterType.CLUSTER_SESSION, client_info=info, cluster_id=cluster_id)
        self.counter_request: Pending[Counter] | None = aeron.async_add_counter(CounterType.CLUSTER_SESSION, label, key=key)
        self.counter: Counter | None = None
        self.publication: Publication | None = None
        self.is_connected = False

    def close(self) -> None:
        """Give back what is there or still comes."""
        if self.counter_request is not None:
            self.counter_request.abandon()
        for handle in (self.counter, self.publication):
            if handle is not None:
                handle.close()
        if self.publication is None:
            self.request.abandon()


class ResponsePublications:
    """Publications by key. Changed by all methods."""

    def __init__(self, core: ModuleCore, give: Callable[[Input], object]) -> None:
        """`give` gets the results, and changes of connections."""
        self._core = core
        self._give = give
        self._responses: dict[int, _Response] = {}

    def open(self, effect: OpenResponse) -> None:
        """Ask for a publication. One whose channel is none fails at once."""
        try:
            self._responses[effect.key] = _Response(self._core, effect)
        except AerowireError as error:
            self._give(ResponseFailed(effect.key, str(error)))

    def poll(self) -> int:
        """Proceed with publications that are not there, and look at the connections of others; return how many changed."""
        changed = 0
        for key, response in tuple(self._responses.items()):
            if response.publication is None:
                changed += self._proceed(key, response)
            elif response.publication.is_connected != response.is_connected:
                response.is_connected = not response.is_connected
                changed += 1
                self._give(ResponseConnected(key, response.is_connected))
        return changed

    def send(self, key: int, message: bytes) -> bool:
        """Send a message; return whether there was a connection and room."""
        response = self._responses.get(key)
        if response is None or response.publication is None:
            return False
        try:
            return any(response.publication.offer(message) > 0 for _ in range(_SEND_ATTEMPTS))
        except PublicationClosedError:
            return False

    def close(self, key: int) -> None:
        """Close a publication, there or still to come."""
        response = self._responses.pop(key, None)
        if response is not None:
            response.close()

    def _proceed(self, key: int, response: _Response) -> int:
        try:
            if response.counter_request is not None and response.counter_request.poll():
                pending, response.counter_request = response.counter_request, None
                response.counter = pending.result()
            if response.counter is None:
                return 0
            response.publication = response.request.poll(self._core.ports.clock.now_ms())
        except AerowireError as error:
            self.close(key)
            self._give(ResponseFailed(key, str(error)))
            return 1
        if response.publication is None:
            return 0
        response.counter.reference_id = response.publication.registration_id
        response.counter.value = response.cluster_session_id
        self._give(ResponseAdded(key))
        return 1
