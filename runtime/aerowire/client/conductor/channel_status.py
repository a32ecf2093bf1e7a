"""What a channel's counters tell: its status, the addresses it is bound to. Aeron: ChannelEndpointStatus, LocalSocketAddressStatus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.channel_uri import ChannelUri
from aerowire.codecs.flyweights import cnc
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from aerowire.ipc.counters import CountersReader


def status(counters: CountersReader | None, channel_status_id: int) -> int:
    """Return a channel's status; of a channel that has no socket that it is active. `counters` None: the handle is closed."""
    if counters is None:
        return cnc.CHANNEL_STATUS_NO_ID_ALLOCATED
    if channel_status_id == cnc.CHANNEL_STATUS_NO_ID_ALLOCATED:
        return cnc.CHANNEL_STATUS_ACTIVE
    return counters.value(channel_status_id)


def local_addresses(counters: CountersReader, channel_status_id: int) -> list[str]:
    """Return the `address:port` texts that an active channel is bound to; empty while it is not."""
    if status(counters, channel_status_id) != cnc.CHANNEL_STATUS_ACTIVE:
        return []
    found = []
    for counter in counters.for_each():
        if counter.type_id == CounterType.LOCAL_SOCKADDR and counter.value == cnc.CHANNEL_STATUS_ACTIVE:
            key = cnc.LocalSockaddrKeyDecoder(counter.key)
            if key.channel_status_id == channel_status_id and key.local_sockaddr:
                found.append(key.local_sockaddr)
    return found


def resolve_port(channel: str, addresses: list[str]) -> str | None:
    """Return `channel` with the port of `addresses` in place of an endpoint's port 0; as it is when it has none; None when not bound."""
    uri = ChannelUri.parse(channel)
    endpoint = uri.get("endpoint")
    if endpoint is None or not endpoint.endswith(":0") or uri.get("control-mode") == "manual":
        return channel
    if not addresses:
        return None
    port = addresses[0].rpartition(":")[2]
    return channel.replace(f"endpoint={endpoint}", f"endpoint={endpoint[:-1]}{port}", 1)
