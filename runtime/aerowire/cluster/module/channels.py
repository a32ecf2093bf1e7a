"""The channels of a member as URIs: consensus, log, catch-up, replays. Pure functions of options and endpoints.

Aeron: ConsensusModuleAgent.addLogPublication, Election.addFollowerSubscription, ClusterMember.addConsensusPublication.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from aerowire.base.channel_builder import initial_position
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ChannelError

if TYPE_CHECKING:
    from aerowire.cluster.files.recovery_plan import RecordingExtent

_ANY_PORT = ":0"


def with_parameters(channel: str, **parameters: object) -> str:
    """Return a channel with parameters set; a name's underscores stand for hyphens."""
    uri = ChannelUri.parse(channel)
    uri.parameters.update({name.replace("_", "-"): _text(value) for name, value in parameters.items()})
    return str(uri)


def with_alias(channel: str, alias: str) -> str:
    """Return a channel with an alias, unless it has one."""
    return channel if "alias" in ChannelUri.parse(channel) else with_parameters(channel, alias=alias)


def with_endpoint(channel: str, endpoint: str) -> str:
    """Return a channel with an endpoint, unless it has one."""
    return channel if "endpoint" in ChannelUri.parse(channel) else with_parameters(channel, endpoint=endpoint)


def consensus_publication(channel: str, endpoint: str, own_endpoint: str, *, is_bound: bool) -> str:
    """Return the channel of messages to a member; bound, they leave by the address of the member's own endpoint."""
    bound = {"control": any_port_of(own_endpoint)} if is_bound and ":" in own_endpoint else {}
    return with_parameters(channel, endpoint=endpoint, **bound)


def any_port_of(endpoint: str) -> str:
    """Return an endpoint's address with a port that the system chooses. Aeron: ChannelUri.replacePortWithWildcard."""
    return endpoint[: endpoint.rindex(":")] + _ANY_PORT


def is_multi_destination(log_channel: str) -> bool:
    """Return whether the log goes to each member's own endpoint: a channel of UDP without an endpoint."""
    uri = ChannelUri.parse(log_channel)
    return uri.is_udp and "endpoint" not in uri


def log_publication(
    log_channel: str,
    *,
    tags: tuple[int, int],
    own_endpoint: str,
    is_bound: bool,
    is_alone: bool,
    position: int,
    recording: RecordingExtent | None,
) -> str:
    """Return the channel of a leader's log, from a position on; `recording` is that of the log so far, if there is one.

    A log without a recording begins at term 0, so that all members have the same initial term id.
    """
    parameters: dict[str, object] = {"alias": "log", "tags": f"{tags[0]},{tags[1]}"}
    uri = ChannelUri.parse(log_channel)
    if uri.is_udp:
        if is_multi_destination(log_channel):
            parameters["control_mode"] = "manual"
            if is_bound and ":" in own_endpoint:
                parameters["control"] = any_port_of(own_endpoint)
        parameters["ssc"] = is_alone
    if recording is not None:
        parameters.update(initial_position(position, recording.initial_term_id, recording.term_buffer_length))
        parameters["mtu"] = recording.mtu_length
    else:
        parameters.update(init_term_id=0, term_id=0, term_offset=0)
    return with_parameters(log_channel, **parameters)


def leader_recording(log_channel: str, channel_tag: int, log_session_id: int) -> str:
    """Return the channel by which the leader's archive records the log."""
    media = ChannelUri.parse(log_channel).media
    return f"aeron:{media}?tags={channel_tag}|session-id={log_session_id}|alias=log"


def leader_services(log_channel: str, channel_tag: int, log_session_id: int) -> str:
    """Return the channel by which the leader's services read the log."""
    channel = leader_recording(log_channel, channel_tag, log_session_id)
    return channel if ChannelUri.parse(channel).is_ipc else f"aeron-spy:{channel}"


def follower_log(log_channel: str, tags: tuple[int, int], log_session_id: int) -> str:
    """Return the channel of a follower's subscription to the log, to which destinations are added."""
    uri = ChannelUri.parse(log_channel)
    kept = {name: uri.parameters[name] for name in ("so-rcvbuf", "rcv-wnd") if name in uri}
    return with_parameters(
        "aeron:udp",
        tags=f"{tags[0]},{tags[1]}",
        control_mode="manual",
        session_id=log_session_id,
        group=True,
        rejoin=False,
        **kept,
        alias="log-cm",
    )


def destination(channel: str, endpoint: str) -> str:
    """Return a destination of a channel. Aeron: ChannelUri.createDestinationUri."""
    uri = ChannelUri.parse(channel)
    interface = {"interface": uri.parameters["interface"]} if "interface" in uri else {}
    return with_parameters(f"aeron:{uri.media}", endpoint=endpoint, **interface)


def live_log_destination(log_channel: str, log_endpoint: str) -> str:
    """Return where a follower receives the live log."""
    return destination(log_channel, log_endpoint) if is_multi_destination(log_channel) else log_channel


def catchup_replay(channel: str, endpoint: str, log_session_id: int, follower_member_id: int) -> str:
    """Return the channel of a leader's replay to a follower, which takes it for the log itself."""
    return with_parameters(
        channel,
        endpoint=endpoint,
        session_id=log_session_id,
        linger=0,
        eos=False,
        alias=f"catchup-followerId-{follower_member_id}",
    )


def resolved_endpoint(endpoint: str, resolved: str | None) -> str | None:
    """Return an endpoint with the port that it was bound to; None as long as that is not known."""
    if not endpoint.endswith(_ANY_PORT):
        return endpoint
    return None if resolved is None else endpoint[: -len(_ANY_PORT)] + resolved[resolved.rindex(":") :]


def response_replication(channel: str, response_endpoint: str) -> str:
    """Return a replication channel on which the source's archive answers by a response channel."""
    uri = ChannelUri.parse(channel)
    uri.parameters.pop("endpoint", None)
    uri.parameters |= {"control": response_endpoint, "control-mode": "response"}
    return str(uri)


def ingress(channel: str, endpoint: str) -> str:
    """Return the channel of clients' messages to a member."""
    return with_parameters(with_endpoint(channel, endpoint) if ChannelUri.parse(channel).is_udp else channel, rejoin=False, reliable=True)


def response(channel: str, egress_channel: str | None, *, is_ipc_allowed: bool) -> str | None:
    """Return the channel of answers to a client, with the parameters of the member's own egress channel; None where there can be none."""
    try:
        uri = ChannelUri.parse(channel)
    except ChannelError:
        return None
    if not egress_channel or (uri.is_ipc and is_ipc_allowed):
        return channel
    if uri.is_ipc:
        return egress_channel
    uri.parameters.update(ChannelUri.parse(egress_channel).parameters)
    return str(uri)


def is_multicast(channel: str) -> bool:
    """Return whether a channel's endpoint is a multicast group."""
    endpoint = ChannelUri.parse(channel).get("endpoint") or ""
    try:
        return ip_address(endpoint.rpartition(":")[0].strip("[]")).is_multicast
    except ValueError:
        return False


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
