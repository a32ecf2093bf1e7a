"""What every parameter of a channel should look like: for a client that would rather hear of a mistake than have it passed over.

The drivers themselves pass over keys that they do not know and values that they do not read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from aerowire.base import units
from aerowire.base.channel_uri import PROTOTYPE_CORRELATION_ID, RESERVED_OFFSET, ChannelUri, session_tag
from aerowire.base.errors import ChannelValueError, ConfigurationError, UnknownChannelKeyError
from aerowire.codecs.tables.errors import ErrorCode

# Channels that passed, which one command after another is about.
_ACCEPTED_MAX = 256


def check_channel(text: str) -> ChannelUri:
    """Parse `text` and check each key and the form of each value; raises a `ChannelError` that names the offending part."""
    uri = ChannelUri.parse(text)
    for key, value in uri.parameters.items():
        _check_parameter(text, key, value)
    return uri


@lru_cache(maxsize=_ACCEPTED_MAX)
def accept_channel(text: str) -> None:
    """Raise as `check_channel` for a channel that is not valid; the last ones that were are remembered."""
    check_channel(text)


def _check_text(_key: str, _text: str) -> None:
    """Accept anything; somebody else reads it."""


def _check_int32(key: str, text: str) -> None:
    units.parse_integer(key, text)


def _check_int64(key: str, text: str) -> None:
    units.parse_integer(key, text, units.INT64_MIN, units.INT64_MAX)


def _check_size(key: str, text: str) -> None:
    if not 0 <= units.parse_size(key, text) <= units.INT32_MAX:
        raise ConfigurationError(f"{key} is out of range", where=key, expected=f"0 to {units.INT32_MAX}", actual=repr(text))


def _check_duration(key: str, text: str) -> None:
    if units.parse_duration_ns(key, text) < 0:
        raise ConfigurationError(f"{key} is negative", where=key, expected="a duration of 0 or more", actual=repr(text))


def _check_timestamp_offset(key: str, text: str) -> None:
    if text != RESERVED_OFFSET:
        units.parse_integer(key, text)


def _check_session_id(key: str, text: str) -> None:
    tag = session_tag(text)
    if tag is not None:
        units.parse_integer(key, tag, units.INT64_MIN, units.INT64_MAX)
    else:
        units.parse_integer(key, text)


def _check_tags(key: str, text: str) -> None:
    parts = text.split(",")
    if len(parts) > 2:
        raise ConfigurationError(f"{key} has too many tags", where=key, expected="channel-tag[,publication-tag]", actual=repr(text))
    for part in parts:
        if part:
            units.parse_integer(key, part, units.INT64_MIN, units.INT64_MAX)


def _check_response_correlation_id(key: str, text: str) -> None:
    if text != PROTOTYPE_CORRELATION_ID:
        units.parse_integer(key, text, -1, units.INT64_MAX)


def _one_of(*choices: str) -> Callable[[str, str], None]:
    def check(key: str, text: str) -> None:
        if text not in choices:
            raise ConfigurationError(f"{key} has an unknown value", where=key, expected=" | ".join(choices), actual=repr(text))

    return check


_CHECK_BOOLEAN = _one_of("true", "false")

# Every parameter that a channel can have -> the check of its value's form.
CHANNEL_KEYS: Mapping[str, Callable[[str, str], None]] = {
    "endpoint": _check_text,
    "interface": _check_text,
    "control": _check_text,
    "control-mode": _one_of("manual", "dynamic", "response"),
    "init-term-id": _check_int32,
    "term-id": _check_int32,
    "term-offset": _check_int32,
    "term-length": _check_size,
    "mtu": _check_size,
    "ttl": _check_int32,
    "session-id": _check_session_id,
    "stream-id": _check_int32,
    "linger": _check_duration,
    "reliable": _CHECK_BOOLEAN,
    "tags": _check_tags,
    "sparse": _CHECK_BOOLEAN,
    "alias": _check_text,
    "eos": _CHECK_BOOLEAN,
    "tether": _CHECK_BOOLEAN,
    "group": _one_of("true", "false", "infer"),
    "rejoin": _CHECK_BOOLEAN,
    "cc": _one_of("static", "cubic"),
    "fc": _check_text,
    "gtag": _check_int64,
    "ssc": _CHECK_BOOLEAN,
    "so-sndbuf": _check_size,
    "so-rcvbuf": _check_size,
    "rcv-wnd": _check_size,
    "pub-wnd": _check_size,
    "media-rcv-ts-offset": _check_timestamp_offset,
    "channel-rcv-ts-offset": _check_timestamp_offset,
    "channel-snd-ts-offset": _check_timestamp_offset,
    "response-endpoint": _check_text,
    "response-correlation-id": _check_response_correlation_id,
    "nak-delay": _check_duration,
    "untethered-window-limit-timeout": _check_duration,
    "untethered-linger-timeout": _check_duration,
    "untethered-resting-timeout": _check_duration,
    "max-resend": _check_int32,
}


def _check_parameter(uri: str, key: str, value: str) -> None:
    check = CHANNEL_KEYS.get(key)
    if check is None:
        from difflib import get_close_matches  # slow to load, and only a mistake needs it

        close = get_close_matches(key, CHANNEL_KEYS, n=1)
        raise UnknownChannelKeyError(
            "channel URI has an unknown parameter",
            where=uri,
            expected="a parameter that channels have",
            actual=repr(key),
            hint=f"did you mean '{close[0]}'?" if close else "known: " + ", ".join(CHANNEL_KEYS),
            error_code=ErrorCode.INVALID_CHANNEL,
        )
    try:
        check(key, value)
    except ConfigurationError as error:
        raise ChannelValueError(
            error.what, where=uri, expected=error.expected, actual=f"{key}={value}", hint=error.hint, error_code=ErrorCode.INVALID_CHANNEL
        ) from None
