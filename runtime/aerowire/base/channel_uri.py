"""The syntax of channel URIs: `[aeron-spy:]aeron:media?key=value|key=value`.

Parses, checks every key and the form of every value, and writes a URI back. What a value means for a stream
(whether an MTU fits a term, say) is the driver's business. Aeron: ChannelUri.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from aerowire.base import units
from aerowire.base.errors import ChannelError, ChannelValueError, ConfigurationError, UnknownChannelKeyError
from aerowire.codecs.tables.errors import ErrorCode

SCHEME = "aeron"
SPY_PREFIX = "aeron-spy"
MEDIA_UDP = "udp"
MEDIA_IPC = "ipc"
IPC_CHANNEL = f"{SCHEME}:{MEDIA_IPC}"

# A driver's counter keys, records and commands are sized for it; longer URIs are refused whole.
URI_LENGTH_MAX = 4095

# A tag of -1 means "no tag", so that nobody may use it.
TAG_INVALID = -1
_TAG_PREFIX = "tag:"

RESERVED_OFFSET = "reserved"
PROTOTYPE_CORRELATION_ID = "prototype"


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
    if text.startswith(_TAG_PREFIX):
        units.parse_integer(key, text[len(_TAG_PREFIX) :], units.INT64_MIN, units.INT64_MAX)
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


@dataclass(slots=True)
class ChannelUri:
    """A parsed channel URI.

    Invariant: `media` is udp or ipc and every key of `parameters` is in CHANNEL_KEYS with a value of its form.
    """

    media: str
    parameters: dict[str, str] = field(default_factory=dict)
    is_spy: bool = False

    @classmethod
    def parse(cls, text: str) -> ChannelUri:
        """Parse and check `text`; raises a `ChannelError` that names the offending part and the whole URI."""
        if len(text) > URI_LENGTH_MAX:
            raise _error("channel URI is too long", text[:64] + "...", f"at most {URI_LENGTH_MAX} characters", len(text))
        rest = text
        is_spy = rest.startswith(SPY_PREFIX + ":")
        if is_spy:
            rest = rest[len(SPY_PREFIX) + 1 :]
        if not rest.startswith(SCHEME + ":"):
            raise _error(
                "channel URI has an unknown scheme", text, f"'{SCHEME}:' or '{SPY_PREFIX}:{SCHEME}:'", repr(rest.split(":", 1)[0] + ":")
            )
        media, separator, tail = rest[len(SCHEME) + 1 :].partition("?")
        if media not in {MEDIA_UDP, MEDIA_IPC}:
            raise _error("channel URI has an unknown media", text, f"{MEDIA_UDP} or {MEDIA_IPC}", repr(media))
        parameters = dict(_split_parameters(text, tail)) if separator else {}
        for key, value in parameters.items():
            _check_parameter(text, key, value)
        return cls(media, parameters, is_spy)

    @property
    def is_ipc(self) -> bool:
        return self.media == MEDIA_IPC

    @property
    def is_udp(self) -> bool:
        return self.media == MEDIA_UDP

    def get(self, key: str) -> str | None:
        """Return the value of `key`, or None."""
        return self.parameters.get(key)

    def __contains__(self, key: str) -> bool:
        return key in self.parameters

    @property
    def channel_tag(self) -> int | None:
        """The first of `tags`, which names the channel's endpoint."""
        return self._tag(0)

    @property
    def entity_tag(self) -> int | None:
        """The second of `tags`, which names a publication."""
        return self._tag(1)

    def _tag(self, index: int) -> int | None:
        parts = self.parameters.get("tags", "").split(",")
        return int(parts[index]) if len(parts) > index and parts[index] else None

    def __str__(self) -> str:
        prefix = f"{SPY_PREFIX}:" if self.is_spy else ""
        text = "|".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{prefix}{SCHEME}:{self.media}" + (f"?{text}" if text else "")


def session_tag(text: str) -> int | None:
    """Return the tag of a `session-id=tag:N` value, or None when it is a plain id."""
    return int(text[len(_TAG_PREFIX) :]) if text.startswith(_TAG_PREFIX) else None


def _split_parameters(uri: str, tail: str) -> Iterator[tuple[str, str]]:
    for part in tail.split("|"):
        key, separator, value = part.partition("=")
        if not separator or not key:
            raise _error("channel URI has a malformed parameter", uri, "key=value", repr(part), hint="parameters are separated by '|'")
        yield key, value


def _check_parameter(uri: str, key: str, value: str) -> None:
    check = CHANNEL_KEYS.get(key)
    if check is None:
        close = difflib.get_close_matches(key, CHANNEL_KEYS, n=1)
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


def _error(what: str, where: str, expected: str, actual: object, *, hint: str | None = None) -> ChannelError:
    return ChannelError(
        what, where=where or "an empty channel", expected=expected, actual=actual, hint=hint, error_code=ErrorCode.INVALID_CHANNEL
    )
