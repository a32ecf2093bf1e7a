"""Channels as an archive keeps and uses them: stripped of what belongs to one stream, with what a response or a replay needs.

Parameters stand in the order, and values in the form, in which the official archive writes them: catalogs and labels show them.
Aeron: ArchiveConductor.strippedChannelBuilder, ArchiveConductor.makeKey, ChannelUriStringBuilder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from aerowire.archive.control.control_response_proxy import MESSAGE_LENGTH_MAX
from aerowire.base import units
from aerowire.base.channel_builder import initial_position
from aerowire.base.channel_uri import SPY_PREFIX, ChannelUri
from aerowire.base.errors import ChannelError, ConfigurationError
from aerowire.codecs.flyweights.archive import RecordingDescriptorDecoder, SourceLocation
from aerowire.recordings.catalog_entry import RecordingEntry, implausible_fields

CONTROL_MODE_RESPONSE = "response"


def _size(key: str, text: str) -> str:
    return units.format_size(units.parse_size(key, text))


def _int64(key: str, text: str) -> str:
    return str(units.parse_integer(key, text, units.INT64_MIN, units.INT64_MAX))


def _boolean(_key: str, text: str) -> str:
    return "true" if text.lower() == "true" else "false"


def _as_is(_key: str, text: str) -> str:
    return text


# What is kept of a channel -> the form of its value.
_KEPT: Mapping[str, Callable[[str, str], str]] = {
    "tags": _as_is,
    "endpoint": _as_is,
    "interface": _as_is,
    "control": _as_is,
    "control-mode": _as_is,
    "session-id": _as_is,
    "ttl": _int64,
    "alias": _as_is,
    "cc": _as_is,
    "fc": _as_is,
    "gtag": _int64,
    "tether": _boolean,
    "group": _boolean,
    "rejoin": _boolean,
    "so-sndbuf": _size,
    "so-rcvbuf": _size,
    "rcv-wnd": _size,
    "media-rcv-ts-offset": _as_is,
    "channel-rcv-ts-offset": _as_is,
    "channel-snd-ts-offset": _as_is,
    "response-endpoint": _as_is,
    "response-correlation-id": _as_is,
    "stream-id": _int64,
}
# Parameters that a response or a replay adds stand in front of these.
_ORDER = (
    *("tags", "endpoint", "interface", "control", "control-mode"),
    *("mtu", "term-length", "init-term-id", "term-id", "term-offset"),
    *("session-id", "ttl", "linger", "alias", "cc", "fc", "gtag", "sparse", "eos"),
    *("tether", "group", "rejoin", "so-sndbuf", "so-rcvbuf", "rcv-wnd"),
    *("media-rcv-ts-offset", "channel-rcv-ts-offset", "channel-snd-ts-offset"),
    *("response-endpoint", "response-correlation-id", "stream-id"),
)
_PLACES: Mapping[str, int] = {key: place for place, key in enumerate(_ORDER)}
# The room that a descriptor has for both channels of a recording, beside its source's identity.
_SOURCE_IDENTITY_LENGTH = 256
_CHANNELS_LENGTH_MAX = MESSAGE_LENGTH_MAX - RecordingDescriptorDecoder.SBE_BLOCK_LENGTH - _SOURCE_IDENTITY_LENGTH
_SHOWN_LENGTH = 64
# Clients ask for the same channels again and again: the results for the last of them are kept.
_DERIVED_MAX = 256
# What makes two recordings the same, in this order.
_KEY = ("endpoint", "interface", "control", "session-id", "tags")


def parse_channel(text: str) -> ChannelUri:
    """Parse a channel of a client's. Raises ChannelError, for text that is not ASCII too."""
    if not text.isascii():
        raise ChannelError("channel URI is not ASCII", where=ascii(text))
    return ChannelUri.parse(text)


def stripped_channel(uri: ChannelUri) -> str:
    """Return a channel with what an archive keeps of it. Raises ConfigurationError for a value that is none."""
    return _built(uri, _stripped(uri))


def check_described(entry: RecordingEntry) -> None:
    """Raise ConfigurationError for a recording of another archive that cannot be, or whose descriptor no client could be sent."""
    problem = implausible_fields(entry)
    if problem is not None:
        raise ConfigurationError("the recording cannot be", where=f"recording {entry.recording_id} of the source", actual=problem)
    check_listed(entry.stripped_channel, entry.original_channel, entry.source_identity)


def check_listed(stripped: str, original: str, source_identity: str = "") -> None:
    """Raise ConfigurationError for texts of a recording whose descriptor no client could be sent."""
    length = len(stripped) + len(original) + max(len(source_identity) - _SOURCE_IDENTITY_LENGTH, 0)
    if length > _CHANNELS_LENGTH_MAX:
        raise ConfigurationError(
            "the channel is too long for a descriptor",
            where=f"{original[:_SHOWN_LENGTH]}...",
            expected=f"at most {_CHANNELS_LENGTH_MAX} characters, as it is and stripped",
            actual=length,
        )


class RecordedChannel(NamedTuple):
    """The forms of a channel that is to be recorded: for the subscription, for the catalog, and as the key of its recordings."""

    channel: str
    stripped: str
    place: str


@lru_cache(maxsize=_DERIVED_MAX)
def recorded_channel(text: str, source_location: SourceLocation) -> RecordedChannel:
    """Return the forms of a client's channel. Raises ChannelError, ConfigurationError."""
    uri = parse_channel(text)
    channel, stripped = recording_channel(uri, source_location), stripped_channel(uri)
    check_listed(stripped, text)
    return RecordedChannel(channel, stripped, recording_place(uri))


def recording_channel(uri: ChannelUri, source_location: SourceLocation) -> str:
    """Return the channel that a recording subscribes to: a spy for a UDP channel of this machine's own publications."""
    stripped = stripped_channel(uri)
    return f"{SPY_PREFIX}:{stripped}" if source_location == SourceLocation.LOCAL and uri.is_udp else stripped


def recording_key(stream_id: int, place: str) -> str:
    """Return the key of a recording: of two with the same key, the second is refused."""
    return f"{stream_id}:{place}"


def recording_place(uri: ChannelUri) -> str:
    """Return the part of a channel that distinguishes recordings of a stream."""
    given = uri.parameters
    parameters = "|".join([f"{key}={given[key]}" for key in _KEY if key in given])
    return uri.media + (f"?{parameters}" if parameters else "")


def response_channel(uri: ChannelUri, *, mtu_length: int, term_length: int, is_sparse: bool, request_image_correlation_id: int) -> str:
    """Return the channel of a control session's responses; the lengths are those of channels that have none of their own.

    Raises ConfigurationError for a value that is none.
    """
    more = {
        "mtu": _size("mtu", uri.get("mtu") or str(mtu_length)),
        "term-length": _size("term-length", uri.get("term-length") or str(term_length)),
        "sparse": _boolean("sparse", uri.get("sparse") or str(is_sparse)),
    }
    if uri.get("control-mode") == CONTROL_MODE_RESPONSE:
        more["response-correlation-id"] = str(request_image_correlation_id)
    return _built(uri, {**_stripped(uri), **more})


@lru_cache(maxsize=_DERIVED_MAX)
def replay_channel(text: str, *, position: int, initial_term_id: int, term_length: int, mtu_length: int, linger_ns: int) -> str:
    """Return the channel of a replay, whose stream begins at a position; it lingers so long if it does not say itself how long.

    Raises ChannelError, and ConfigurationError for a value that is none.
    """
    uri = parse_channel(text)
    more = {name.replace("_", "-"): str(value) for name, value in initial_position(position, initial_term_id, term_length).items()}
    more["term-length"] = units.format_size(term_length)
    more["mtu"] = units.format_size(mtu_length)
    linger = uri.get("linger")
    more["linger"] = units.format_duration(linger_ns if linger is None else units.parse_duration_ns("linger", linger))
    more.update((key, _boolean(key, uri.parameters[key])) for key in ("eos", "sparse") if key in uri)
    return _built(uri, {**_stripped(uri), **more})


def response_endpoint_of(control_channel: str) -> str:
    """Return the channel for responses from other archives, on the host of this archive's control channel. Raises ConfigurationError."""
    endpoint = ChannelUri.parse(control_channel).get("endpoint") or ""
    host, separator, _ = endpoint.rpartition(":")
    if not separator:
        raise ConfigurationError(
            "the channel for responses to the archive cannot be derived",
            where="control_channel",
            expected="an endpoint host:port",
            actual=control_channel,
            hint="set control_response_channel in the context of the archive's own client",
        )
    return str(ChannelUri("udp", {"endpoint": f"{host}:0"}))


def _stripped(uri: ChannelUri) -> dict[str, str]:
    return {key: _KEPT[key](key, text) for key, text in uri.parameters.items() if key in _KEPT}


def _built(uri: ChannelUri, parameters: Mapping[str, str]) -> str:
    return str(ChannelUri(uri.media, {key: parameters[key] for key in sorted(parameters, key=_PLACES.__getitem__)}))
