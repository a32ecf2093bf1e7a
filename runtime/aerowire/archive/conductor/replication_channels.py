"""The channels of a replication: by which the copy is recorded, and to which the source replays. Aeron: ReplicationSession."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.archive.conductor.channels import CONTROL_MODE_RESPONSE
from aerowire.archive.control.requests import NULL_VALUE
from aerowire.base.channel_uri import ChannelUri

if TYPE_CHECKING:
    from aerowire.archive.control.requests import Replicate
    from aerowire.client.subscriptions.subscription import Subscription

_SYSTEM_PORT = ":0"


class ReplicationChannels:
    """Channels made from the replication channel, as a request asks for them. `replication_id` stands in for tags that it does not give."""

    def __init__(self, request: Replicate, channel: str, replication_id: int) -> None:
        self._request = request
        self._channel = channel
        self._tags = ",".join(
            str(replication_id if tag == NULL_VALUE else tag) for tag in (request.channel_tag_id, request.subscription_tag_id)
        )

    @property
    def _is_multi_destination(self) -> bool:
        tags = self._request.channel_tag_id, self._request.subscription_tag_id
        return bool(self._request.live_destination) or tags != (NULL_VALUE, NULL_VALUE)

    def recording(self, session_id: int) -> str:
        """Return the channel by which a replay with a session id is recorded."""
        uri = ChannelUri.parse(self._channel)
        uri.parameters["rejoin"] = "false"
        if not _is_response(uri):
            uri.parameters["session-id"] = str(session_id)
        if self._is_multi_destination:
            uri.parameters.pop("endpoint", None)
            uri.parameters.update({"tags": self._tags, "control-mode": "manual"})
        return str(uri)

    def destination(self) -> str | None:
        """Return the destination of the replay, where the subscription has several."""
        if not self._is_multi_destination:
            return None
        uri = ChannelUri.parse(self._channel)
        return str(ChannelUri(uri.media, {key: uri.parameters[key] for key in ("endpoint", "interface") if key in uri}))

    def replay(self, subscription: Subscription, session_id: int) -> str | None:
        """Return the channel of the replay, with the port that the system has chosen; None while that is not known."""
        uri = ChannelUri.parse(self._channel)
        endpoint = uri.get("endpoint")
        if endpoint is not None:
            resolved = subscription.resolved_endpoint
            if resolved is None:
                return None
            if endpoint.endswith(_SYSTEM_PORT):
                uri.parameters["endpoint"] = endpoint.removesuffix(_SYSTEM_PORT) + ":" + resolved.rpartition(":")[2]
        if self._request.live_destination:
            uri.parameters.update({"linger": "0", "eos": "false"})
        if _is_response(uri):
            uri.parameters["response-correlation-id"] = str(subscription.registration_id)
        else:
            uri.parameters["session-id"] = str(session_id)
        return str(uri)


def _is_response(uri: ChannelUri) -> bool:
    return uri.get("control-mode") == CONTROL_MODE_RESPONSE
