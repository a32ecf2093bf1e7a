"""Which interceptors lose datagrams that come in, by the C driver's options: their names, and the arguments of each.

Aeron: aeron_udp_channel_interceptor_bindings_load, aeron_udp_channel_interceptor_loss_parse_params and its kin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from aerowire.base.errors import ConfigurationError
from aerowire.base.units import INT32_MAX
from aerowire.codecs.tables.options import OPTIONS

if TYPE_CHECKING:
    from aerowire.driver.media.loss_interceptors import LossInterceptor

_NAMES = "udp_channel_incoming_interceptors"
# As many as a port asks, and the C driver takes.
_COUNT_MAX = 10

_Parse = Callable[[str], float]


def _int32(text: str) -> int:
    value = int(text)
    if not -INT32_MAX - 1 <= value <= INT32_MAX:
        raise ValueError(text)
    return value


def _length(text: str) -> int:
    value = _int32(text)
    if value < 0:
        raise ValueError(text)
    return value


def _radix(text: str) -> int:
    value = _int32(text)
    if not 0 < value <= 1 << 30:
        raise ValueError(text)
    return value


def _bits(text: str) -> int:
    value = int(text, 16)
    if value < 0:
        raise ValueError(text)
    return value


def _seed(text: str) -> int:
    value = int(text)
    if not 0 <= value < 1 << 64:
        raise ValueError(text)
    return value


# Of each interceptor: the option that holds its arguments, and argument -> (parameter, how it is read).
_ARGUMENTS: Mapping[str, tuple[str, Mapping[str, tuple[str, _Parse]]]] = {
    "loss": (
        "udp_channel_transport_bindings_loss_args",
        {"rate": ("rate", float), "seed": ("seed", _seed), "recv-msg-mask": ("types", _bits)},
    ),
    "fixed-loss": (
        "udp_channel_transport_bindings_fixed_loss_args",
        {"term-id": ("term_id", _int32), "term-offset": ("term_offset", _length), "length": ("length", _length)},
    ),
    "multi-gap-loss": (
        "udp_channel_transport_bindings_multi_gap_loss_args",
        {
            "term-id": ("term_id", _int32),
            "gap-radix": ("gap_radix", _radix),
            "gap-length": ("gap_length", _length),
            "total-gaps": ("total_gaps", _length),
        },
    ),
}
# The C driver's symbols for the same interceptors.
_SYMBOLS: Mapping[str, str] = {
    "aeron_udp_channel_interceptor_loss_load": "loss",
    "aeron_udp_channel_interceptor_fixed_loss_load": "fixed-loss",
    "aeron_udp_channel_interceptor_multi_gap_loss_load": "multi-gap-loss",
}


def interceptor_arguments(values: Mapping[str, object]) -> list[tuple[str, dict[str, float]]]:
    """Return the name and parameters of each interceptor that the options name, in the order in which they are asked.

    Raises ConfigurationError for a name or an argument that cannot be.
    """
    found = []
    names = [_SYMBOLS.get(name.strip(), name.strip()) for name in str(values[_NAMES] or "").split(",") if name.strip()]
    if len(names) > _COUNT_MAX:
        raise ConfigurationError(
            "too many interceptors", where=OPTIONS[_NAMES].property, expected=f"at most {_COUNT_MAX}", actual=len(names)
        )
    # Each one stands before those named before it.
    for name in reversed(names):
        if name not in _ARGUMENTS:
            raise ConfigurationError(
                "no interceptor has this name", where=OPTIONS[_NAMES].property, expected=", ".join(_ARGUMENTS), actual=repr(name)
            )
        option = _ARGUMENTS[name][0]
        parameters = _parse(name, OPTIONS[option].property, str(values[option] or ""))
        if name == "multi-gap-loss" and "gap_radix" not in parameters:
            raise ConfigurationError(
                "the gaps have no distance", where=OPTIONS[option].property, expected="gap-radix=BYTES", actual=repr(values[option] or "")
            )
        found.append((name, parameters))
    return found


def make_interceptors(values: Mapping[str, object]) -> tuple[LossInterceptor, ...]:
    """Make the interceptors of one agent."""
    arguments = interceptor_arguments(values)
    if not arguments:
        return ()
    from aerowire.driver.media.loss_interceptors import FixedLoss, MultiGapLoss, RandomLoss

    makers: dict[str, Callable[..., LossInterceptor]] = {"loss": RandomLoss, "fixed-loss": FixedLoss, "multi-gap-loss": MultiGapLoss}
    return tuple(makers[name](**parameters) for name, parameters in arguments)


def _parse(name: str, where: str, text: str) -> dict[str, float]:
    """Read `key=value|key=value`; keys that nobody knows are left alone, as the C driver does."""
    known = _ARGUMENTS[name][1]
    parameters: dict[str, float] = {}
    for part in filter(None, text.split("|")):
        key, separator, value = part.partition("=")
        try:
            if not (key and separator and value):
                raise ValueError(part)
            if key in known:
                parameter, parse = known[key]
                parameters[parameter] = parse(value)
        except ValueError:
            raise ConfigurationError(
                f"an argument of {name} cannot be read", where=where, expected="KEY=NUMBER|KEY=NUMBER", actual=repr(part)
            ) from None
    return parameters
