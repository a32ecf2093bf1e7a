"""Checks that several components make of their options. A component's options are attributes of its context, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ChannelError, ConfigurationError
from aerowire.codecs.tables.option import Option


def wrong_option(option: Option, what: str, expected: object, actual: object) -> ConfigurationError:
    """Return the error that an option has a value that it cannot have."""
    return ConfigurationError(f"{option.property} {what}", where=option.property, expected=expected, actual=actual)


def check_ranges(context: object, options: Mapping[str, Option], ranges: Mapping[str, tuple[int, int]]) -> None:
    """Raise ConfigurationError for the first option that is below the lowest value of its range, or above the highest."""
    for name, (low, high) in ranges.items():
        value = getattr(context, name)
        if not low <= value <= high:
            raise wrong_option(options[name], "is out of range", f"{low} to {high}", value)


def check_powers_of_two(context: object, options: Mapping[str, Option], names: Iterable[str]) -> None:
    """Raise ConfigurationError for the first option that is not a power of two."""
    for name in names:
        value = getattr(context, name)
        if value & (value - 1):
            raise wrong_option(options[name], "is not a power of two", "a power of two", value)


def check_channel(context: object, options: Mapping[str, Option], name: str) -> ChannelUri:
    """Return the channel of an option that needs one. Raises ConfigurationError."""
    channel = getattr(context, name)
    if not channel:
        raise wrong_option(options[name], "is not set", "a channel URI", repr(channel))
    try:
        return ChannelUri.parse(channel)
    except ChannelError as error:
        raise wrong_option(options[name], "is not a channel", "a channel URI", f"{channel}: {error.what}") from None
