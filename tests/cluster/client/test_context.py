"""Options of a cluster's client: where their values come from, and channels made of them."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.base.errors import UnknownOptionError, WrongTypeError
from aerowire.cluster import ClusterClientContext

CHANNELS: dict[str, Any] = {"ingress_channel": "aeron:udp", "egress_channel": "aeron:udp?endpoint=here:0"}


def test_values_come_from_keyword_then_property_then_environment_then_default() -> None:
    concluded = ClusterClientContext(
        egress_channel="aeron:udp?endpoint=keyword:1",
        properties={
            "aeron.cluster.egress.channel": "aeron:udp?endpoint=property:2",
            "aeron.cluster.message.timeout": "4s",
            "aeron.cluster.ingress.endpoints": "0=property:2",
            "aeron.cluster.client.name": "by property",
        },
        environ={
            "AERON_CLUSTER_INGRESS_CHANNEL": "aeron:udp?term-length=64k",
            "AERON_CLUSTER_MESSAGE_TIMEOUT": "3s",
            "AERON_CLUSTER_EGRESS_STREAM_ID": "77",
        },
    ).conclude()
    assert (concluded.egress_channel, concluded.message_timeout_ns) == ("aeron:udp?endpoint=keyword:1", 4_000_000_000)
    assert (concluded.ingress_channel, concluded.egress_stream_id) == ("aeron:udp?term-length=64k", 77)
    assert (concluded.ingress_stream_id, concluded.new_leader_timeout_ns, concluded.is_ingress_exclusive) == (101, None, True)
    assert (concluded.ingress_endpoints, concluded.client_name) == ("0=property:2", "by property")


def test_an_endpoint_goes_into_a_udp_channel_and_egress_does_not_rejoin() -> None:
    concluded = ClusterClientContext(**CHANNELS, ingress_endpoints="0=there:1", environ={}).conclude()
    assert concluded.ingress_publication_channel("there:1", 5) == "aeron:udp?endpoint=there:1"
    assert concluded.ingress_publication_channel(None, 5) == "aeron:udp"
    assert concluded.egress_subscription_channel() == "aeron:udp?endpoint=here:0|rejoin=false"
    local = ClusterClientContext(ingress_channel="aeron:ipc", egress_channel="aeron:ipc", environ={}).conclude()
    assert (local.ingress_publication_channel(None, 5), local.egress_subscription_channel()) == ("aeron:ipc", "aeron:ipc")


def test_durations_may_be_text() -> None:
    concluded = ClusterClientContext(**CHANNELS, new_leader_timeout_ns="7s", message_timeout_ns="8ms", environ={}).conclude()
    assert (concluded.new_leader_timeout_ns, concluded.message_timeout_ns) == (7_000_000_000, 8_000_000)


@pytest.mark.parametrize(
    "name", ["aeron", "ports", "idle_strategy", "agent_invoker", "credentials_supplier", "egress_listener", "extension_listener"]
)
def test_values_of_a_wrong_type_are_refused(name: str) -> None:
    with pytest.raises(WrongTypeError, match=name):
        ClusterClientContext.of(**CHANNELS, environ={}, **{name: 5}).conclude()


def test_names_and_properties_that_do_not_exist_are_refused() -> None:
    with pytest.raises(UnknownOptionError, match="a client of a cluster has no such option"):
        ClusterClientContext.of(ingres_channel="aeron:udp")
    with pytest.raises(UnknownOptionError):
        ClusterClientContext(**CHANNELS, properties={"aeron.cluster.ingres.channel": "aeron:udp"}, environ={}).conclude()
    with pytest.raises(TypeError, match="either a context or options"):
        ClusterClientContext.chosen(ClusterClientContext(), {"ingress_channel": "aeron:udp"})
