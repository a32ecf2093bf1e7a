"""Flow control that a publication's channel asks for: `fc=strategy[,t:duration][,g:[tag][/size]][,rrwm:number]`, and the defaults.

Aeron: DefaultMulticastFlowControlSupplier, AbstractMinMulticastFlowControl.parseUriParam, FlowControl.retransmitReceiverWindowMultiple.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aerowire.base import units
from aerowire.base.errors import ChannelValueError, ConfigurationError
from aerowire.codecs.flyweights import transport
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.codecs.tables.options import OPTIONS

if TYPE_CHECKING:
    from aerowire.base.channel_uri import ChannelUri
    from aerowire.driver.channels.udp_channel import UdpChannel
    from aerowire.driver.context import Context


class Strategy(enum.Enum):
    """Flow control strategies; the values of groups are what `fc` calls them."""

    UNICAST = "unicast"
    MAX = "max"
    MIN = "min"
    TAGGED = "tagged"

    @property
    def counts_receivers(self) -> bool:
        return self in {Strategy.MIN, Strategy.TAGGED}


# What the options of strategies may be: classes of the Java driver, and the C driver's names for the same. Either kind of stream takes any.
STRATEGIES: Mapping[str, Strategy] = {
    "io.aeron.driver.UnicastFlowControl": Strategy.UNICAST,
    "io.aeron.driver.MaxMulticastFlowControl": Strategy.MAX,
    "io.aeron.driver.MinMulticastFlowControl": Strategy.MIN,
    "io.aeron.driver.TaggedMulticastFlowControl": Strategy.TAGGED,
    "io.aeron.driver.PreferredMulticastFlowControl": Strategy.TAGGED,
    "unicast_max": Strategy.UNICAST,
    "multicast_max": Strategy.MAX,
    "multicast_min": Strategy.MIN,
    "multicast_tagged": Strategy.TAGGED,
    "aeron_unicast_flow_control_strategy_supplier": Strategy.UNICAST,
    "aeron_max_multicast_flow_control_strategy_supplier": Strategy.MAX,
    "aeron_min_flow_control_strategy_supplier": Strategy.MIN,
    "aeron_tagged_flow_control_strategy_supplier": Strategy.TAGGED,
}
# Suppliers of the Java driver that make one strategy, whatever `fc` says.
_FIXED_SUPPLIERS: Mapping[str, Strategy] = {
    "io.aeron.driver.MaxMulticastFlowControlSupplier": Strategy.MAX,
    "io.aeron.driver.MinMulticastFlowControlSupplier": Strategy.MIN,
    "io.aeron.driver.TaggedMulticastFlowControlSupplier": Strategy.TAGGED,
    "io.aeron.driver.PreferredMulticastFlowControlSupplier": Strategy.TAGGED,
}
# The default suppliers leave the choice to `fc`, then to the strategy's option; a C driver's supplier is both.
_SUPPLIERS = (*STRATEGIES, *_FIXED_SUPPLIERS)
UNICAST_SUPPLIERS = ("io.aeron.driver.DefaultUnicastFlowControlSupplier", *_SUPPLIERS)
MULTICAST_SUPPLIERS = ("io.aeron.driver.DefaultMulticastFlowControlSupplier", *_SUPPLIERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowControlParams:
    """A strategy and what it is told; group sizes in receivers, `retransmit_window_multiple` in receiver windows.

    `legacy_tag` is what the older four bytes of a receiver's feedback have to be, little endian.
    """

    strategy: Strategy
    retransmit_window_multiple: int
    receiver_timeout_ns: int = 0
    group_tag: int = 0
    group_min_size: int = 0
    legacy_tag: int = -1

    @classmethod
    def of(cls, channel: UdpChannel, context: Context) -> FlowControlParams:
        """Read the `fc` of a publication's channel; raises ChannelValueError."""
        name, *arguments = (channel.uri.get("fc") or "").split(",")
        strategy = _strategy(channel.uri, name, context) if channel.has_group_semantics else _configured("unicast", context)
        if strategy is Strategy.UNICAST:
            return cls(strategy=strategy, retransmit_window_multiple=context.unicast_flow_control_rrwm)
        params = cls(
            strategy=strategy,
            retransmit_window_multiple=context.multicast_flow_control_rrwm,
            receiver_timeout_ns=context.flow_control_receiver_timeout_ns,
            group_tag=context.flow_control_group_tag,
            group_min_size=context.flow_control_group_min_size,
            legacy_tag=int.from_bytes(context.preferred_feedback[: transport.GROUP_TAG_LEGACY_LENGTH], "little", signed=True),
        )
        for argument in arguments:
            params = _with_argument(params, channel.uri, argument)
        return params


def _strategy(uri: ChannelUri, name: str, context: Context) -> Strategy:
    if "fc" not in uri or context.multicast_flow_control_supplier in _FIXED_SUPPLIERS:
        return _configured("multicast", context)
    if name not in {Strategy.MAX.value, Strategy.MIN.value, Strategy.TAGGED.value}:
        raise _error(uri, "unknown flow control strategy", "max, min or tagged, perhaps with arguments as in min,t:5s,g:/2")
    return Strategy(name)


def _configured(kind: str, context: Context) -> Strategy:
    """Return what the options say for streams of a kind, unicast or multicast: a supplier with a will of its own, then a strategy."""
    supplier = str(context.option(f"{kind}_flow_control_supplier"))
    if supplier in _FIXED_SUPPLIERS:
        return _FIXED_SUPPLIERS[supplier]
    strategy = str(context.option(f"{kind}_flow_control_strategy"))
    if supplier in STRATEGIES and strategy == OPTIONS[f"{kind}_flow_control_strategy"].default:
        return STRATEGIES[supplier]
    return STRATEGIES[strategy]


def _with_argument(params: FlowControlParams, uri: ChannelUri, argument: str) -> FlowControlParams:
    """Take in one argument. What a strategy has no use for is passed over, as the official driver does."""
    key, separator, value = argument.partition(":")
    if not separator:
        return params
    if key == "t" and params.strategy is not Strategy.MAX:
        return replace(params, receiver_timeout_ns=_duration(uri, value))
    if key == "g" and params.strategy is not Strategy.MAX:
        tag, separator, size = value.partition("/")
        if params.strategy is Strategy.TAGGED and not value.startswith("/"):
            params = replace(params, group_tag=_number(uri, "tag", tag, units.INT64_MIN, units.INT64_MAX))
        if separator:
            params = replace(params, group_min_size=_number(uri, "group size", size, units.INT32_MIN, units.INT32_MAX))
        return params
    if key == "rrwm":
        return replace(params, retransmit_window_multiple=_number(uri, "retransmit receiver window multiple", value, 1, units.INT32_MAX))
    return params


def _duration(uri: ChannelUri, text: str) -> int:
    try:
        return units.parse_duration_ns("fc receiver timeout", text)
    except ConfigurationError:
        raise _error(uri, "flow control receiver timeout is malformed", "t: and a duration, for example t:5s") from None


def _number(uri: ChannelUri, what: str, text: str, low: int, high: int) -> int:
    try:
        return units.parse_integer(what, text, low, high)
    except ConfigurationError as error:
        raise _error(uri, f"flow control {error.what}", str(error.expected)) from None


def _error(uri: ChannelUri, what: str, expected: str) -> ChannelValueError:
    return ChannelValueError(what, where=uri, expected=expected, actual=f"fc={uri.get('fc')}", error_code=ErrorCode.GENERIC_ERROR)
