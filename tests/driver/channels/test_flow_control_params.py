"""What `fc` and the driver's options say about flow control."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import AerowireError, ChannelValueError, ConfigurationError
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.flow_control_params import FlowControlParams, Strategy
from aerowire.driver.channels.udp_channel import UdpChannel
from aerowire.driver.context import Context
from aerowire.system.interfaces import InterfaceAddress

SECOND = 1_000_000_000
LOOPBACK = InterfaceAddress("lo", 1, "127.0.0.1", is_loopback=True)


def context(**options: Any) -> Context:
    return Context(environ={}, **options)


def params(fc: str | None, endpoint: str = "224.20.30.39:24326", **options: Any) -> FlowControlParams:
    text = f"aeron:udp?endpoint={endpoint}" + ("" if fc is None else f"|fc={fc}")
    return FlowControlParams.of(UdpChannel.resolve(ChannelUri.parse(text), interfaces=lambda: [LOOPBACK]), context(**options))


def test_a_group_follows_the_fastest_by_default() -> None:
    assert params(None) == FlowControlParams(
        strategy=Strategy.MAX, retransmit_window_multiple=4, receiver_timeout_ns=5 * SECOND, group_tag=-1, group_min_size=0
    )


def test_a_unicast_stream_has_a_strategy_of_its_own() -> None:
    assert params(None, "127.0.0.1:24326") == FlowControlParams(strategy=Strategy.UNICAST, retransmit_window_multiple=16)


@pytest.mark.parametrize(
    ("fc", "strategy", "timeout_ns", "tag", "size", "multiple"),
    [
        ("max", Strategy.MAX, 5 * SECOND, -1, 0, 4),
        ("max,rrwm:3", Strategy.MAX, 5 * SECOND, -1, 0, 3),
        ("min", Strategy.MIN, 5 * SECOND, -1, 0, 4),
        ("min,t:1s", Strategy.MIN, SECOND, -1, 0, 4),
        ("min,t:5s,g:/2", Strategy.MIN, 5 * SECOND, -1, 2, 4),
        ("tagged,g:101/2,t:3s", Strategy.TAGGED, 3 * SECOND, 101, 2, 4),
        ("tagged,g:-7", Strategy.TAGGED, 5 * SECOND, -7, 0, 4),
        ("tagged,g:101,rrwm:2", Strategy.TAGGED, 5 * SECOND, 101, 0, 2),
    ],
)
def test_the_channel_says_strategy_timeout_group_and_multiple(
    fc: str, strategy: Strategy, timeout_ns: int, tag: int, size: int, multiple: int
) -> None:
    found = params(fc)
    assert (found.strategy, found.receiver_timeout_ns, found.group_tag, found.group_min_size) == (strategy, timeout_ns, tag, size)
    assert found.retransmit_window_multiple == multiple


@pytest.mark.parametrize(
    "fc",
    [
        "",
        "slow",
        "Min",
        "min,t:",
        "min,t:soon",
        "tagged,g:",
        "min,g:/",
        "tagged,g:x",
        "tagged,g:1/2/3",
        "max,rrwm:0",
        "max,rrwm:-1",
        "max,rrwm:",
        "max,rrwm:99999999999",
    ],
)
def test_what_cannot_be_is_told_to_the_client(fc: str) -> None:
    with pytest.raises(AerowireError) as caught:
        params(fc)
    if isinstance(caught.value, ChannelValueError) and fc:
        assert caught.value.error_code == ErrorCode.GENERIC_ERROR
        assert f"fc={fc}" in str(caught.value)


def test_options_are_the_defaults_of_every_channel() -> None:
    found = params(
        None,
        multicast_flow_control_strategy="io.aeron.driver.TaggedMulticastFlowControl",
        flow_control_group_tag=9,
        flow_control_group_min_size=3,
        flow_control_receiver_timeout_ns="1s",
        multicast_flow_control_rrwm=7,
    )
    assert found == FlowControlParams(
        strategy=Strategy.TAGGED, retransmit_window_multiple=7, receiver_timeout_ns=SECOND, group_tag=9, group_min_size=3
    )
    assert params("tagged,g:4", flow_control_group_tag=9).group_tag == 4


@pytest.mark.parametrize(
    ("option", "name", "fc", "strategy"),
    [
        ("strategy", "io.aeron.driver.MinMulticastFlowControl", None, Strategy.MIN),
        ("strategy", "io.aeron.driver.MinMulticastFlowControl", "max", Strategy.MAX),
        ("strategy", "multicast_min", None, Strategy.MIN),
        ("strategy", "io.aeron.driver.PreferredMulticastFlowControl", None, Strategy.TAGGED),
        ("supplier", "aeron_min_flow_control_strategy_supplier", None, Strategy.MIN),
        ("supplier", "aeron_tagged_flow_control_strategy_supplier", None, Strategy.TAGGED),
        ("supplier", "aeron_min_flow_control_strategy_supplier", "max", Strategy.MAX),
        ("supplier", "io.aeron.driver.MinMulticastFlowControlSupplier", None, Strategy.MIN),
        ("supplier", "io.aeron.driver.MinMulticastFlowControlSupplier", "max", Strategy.MIN),
    ],
)
def test_strategies_and_suppliers_go_by_the_official_names(option: str, name: str, fc: str | None, strategy: Strategy) -> None:
    assert params(fc, **{f"multicast_flow_control_{option}": name}).strategy is strategy


@pytest.mark.parametrize(
    ("option", "name", "strategy"),
    [
        ("strategy", "io.aeron.driver.MaxMulticastFlowControl", Strategy.MAX),
        ("strategy", "multicast_min", Strategy.MIN),
        ("supplier", "aeron_max_multicast_flow_control_strategy_supplier", Strategy.MAX),
        ("supplier", "io.aeron.driver.TaggedMulticastFlowControlSupplier", Strategy.TAGGED),
        ("supplier", "unicast_max", Strategy.UNICAST),
    ],
)
def test_a_unicast_stream_takes_the_strategies_of_groups_too(option: str, name: str, strategy: Strategy) -> None:
    found = params(None, "127.0.0.1:24326", **{f"unicast_flow_control_{option}": name})
    assert (found.strategy, found.retransmit_window_multiple) == (strategy, 16 if strategy is Strategy.UNICAST else 4)


def test_a_group_takes_the_strategy_of_unicast_streams_too() -> None:
    found = params(None, multicast_flow_control_supplier="unicast_max")
    assert found == FlowControlParams(strategy=Strategy.UNICAST, retransmit_window_multiple=16)


def test_a_class_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="MinMulticastFlowControl"):
        context(multicast_flow_control_strategy="com.example.Mine")


def test_the_older_feedback_is_the_receivers_tag() -> None:
    assert context(flow_control_sm_application_specific_feedback="4D00000000000000").receiver_group_tag == 77
    assert context(flow_control_sm_application_specific_feedback="FF" * 8).receiver_group_tag == -1
    assert context(flow_control_sm_application_specific_feedback="4D00000000000000", receiver_group_tag=5).receiver_group_tag == 5
    with pytest.raises(ConfigurationError, match="8 bytes"):
        context(flow_control_sm_application_specific_feedback="FFFFFFFF")


def test_the_older_feedback_of_preferred_receivers_is_the_tag_of_the_group() -> None:
    feedback = "0100008000000000"
    found = params("tagged", preferred_multicast_flow_control_asf=feedback)
    assert (found.group_tag, found.legacy_tag) == (0x80000001, 0x80000001 - 2**32)
    assert params("tagged", preferred_multicast_flow_control_asf=feedback, flow_control_group_tag=9).group_tag == 9
    assert (params("tagged").group_tag, params("tagged").legacy_tag) == (-1, -1)
    with pytest.raises(ConfigurationError, match=r"aeron\.PreferredMulticastFlowControl\.asf.*8 bytes"):
        context(preferred_multicast_flow_control_asf="FFFFFFFF")


@pytest.mark.parametrize("fc", ["min,", "min,x:1", "min,g:", "min,g:x", "max,t:soon", "max,g:x"])
def test_what_a_strategy_has_no_use_for_is_passed_over(fc: str) -> None:
    assert params(fc).strategy.value == fc[:3]
